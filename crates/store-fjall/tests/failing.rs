//! A write that fails is the last: the store latches, says why, and what was durable is safe.
//!
//! Failures are real ones. A child of this test binary runs under a limit of its file sizes, so
//! that the journal's file cannot grow; another loses the folder into which fjall flushes.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use punctual_store_api::{ShardStore, Store, StoreError, testing::wait};
use punctual_store_fjall::{FjallStore, OpenOptions, limits::SEALED_MEMTABLES_MAX};
use punctual_types::{Batch, Read, ReadReply, ShardNumber, Time, Write};

const CHILD: &str = "PUNCTUAL_TEST_FAILING_DIRECTORY";
/// fjall makes a journal of 64 MiB and lets it grow: with this limit it cannot.
const FILE_BYTES_MAX: u64 = 64 << 20;

fn set(key: &'static [u8], bytes: usize) -> Batch {
    let value = Some(Bytes::from(vec![b'x'; bytes]));
    Batch { now: Time::ZERO, writes: vec![Write::SetState { key: Bytes::from_static(key), value }] }
}

fn options() -> OpenOptions {
    OpenOptions::new(1, [5; 16])
}

fn open(path: &Path, options: &OpenOptions) -> (Arc<FjallStore>, Arc<dyn ShardStore>) {
    let store = FjallStore::open(path, options).expect("opens");
    let shard = store.shard(ShardNumber(0)).expect("a shard");
    (store, shard)
}

fn check_latched(store: &FjallStore, shard: &Arc<dyn ShardStore>, directory: &Path) {
    let failure = store.failure().expect("latched");
    assert!(matches!(failure, StoreError::Failed { .. }), "{failure}");
    assert!(failure.to_string().contains(&directory.display().to_string()), "{failure}");
    let again = [
        wait(shard.commit(set(b"later", 1))).expect_err("nothing is written any more").to_string(),
        wait(shard.read(vec![])).expect_err("nothing is read any more").to_string(),
        shard.load_state(&mut |_, _| ()).expect_err("nothing is shown any more").to_string(),
        store.close().expect_err("nothing is closed well any more").to_string(),
    ];
    for again in again {
        assert_eq!(again, failure.to_string(), "always the first failure");
    }
}

/// The child: fills the journal until it cannot grow.
#[test]
fn child_that_runs_out_of_journal() {
    let Some(directory) = env::var_os(CHILD) else { return };
    let directory = Path::new(&directory);
    let limit = rustix::process::Rlimit { current: Some(FILE_BYTES_MAX), maximum: Some(FILE_BYTES_MAX) };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).expect("limited");
    // No flush, and so no second journal, before the limit is met.
    let options = OpenOptions { memtable_bytes_if_new: 1 << 30, ..options() };
    let (store, shard) = open(directory, &options);
    let durable = wait(shard.commit(set(b"durable", 1))).expect("written");
    assert_eq!(wait(shard.durable(durable)).expect("durable").commit(), durable);
    let mut written = durable;
    let mut failed = None;
    for _ in 0..70 {
        match wait(shard.commit(set(b"filler", 1 << 20))) {
            Ok(commit) => written = commit,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    let error = failed.expect("the limit was met");
    assert!(error.to_string().contains("writing"), "{error}");
    assert_eq!(store.failure().expect("latched").to_string(), error.to_string());
    for commit in [durable, written] {
        wait(shard.durable(commit)).expect_err("nothing is answered as durable any more");
    }
    check_latched(&store, &shard, directory);
}

#[test]
fn a_journal_that_cannot_be_written_latches_and_loses_nothing_durable() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let binary = env::current_exe().expect("this binary");
    // Without the trap the kernel would kill the child at the limit.
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(binary)
        .args(["child_that_runs_out_of_journal", "--exact", "--nocapture"])
        .env(CHILD, directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(child.status.success(), "{}\n{}", text(&child.stdout), text(&child.stderr));
    let (_store, shard) = open(directory.path(), &options());
    let mut keys = Vec::new();
    shard.load_state(&mut |key, _| keys.push(key)).expect("shown");
    assert!(keys.contains(&Bytes::from_static(b"durable")), "{keys:?}");
    assert!(!keys.contains(&Bytes::from_static(b"later")), "{keys:?}");
}

/// The child: asks for syncs until one fails.
#[test]
fn child_that_meets_a_failed_sync() {
    let Some(directory) = env::var_os(CHILD) else { return };
    let directory = Path::new(&directory);
    let (store, shard) = open(directory, &options());
    for durable in 1.. {
        let commit = wait(shard.commit(set(b"key", durable))).expect("written");
        match wait(shard.durable(commit)) {
            Ok(answer) => assert_eq!(answer.commit(), commit),
            Err(error) => {
                assert!(error.to_string().contains("syncing"), "{error}");
                assert_eq!(store.failure().expect("latched").to_string(), error.to_string());
                // Told to the parent: so many bytes were durable.
                println!("durable {}", durable - 1);
                break;
            }
        }
    }
    check_latched(&store, &shard, directory);
}

#[test]
fn a_sync_that_fails_is_final_and_not_tried_again() {
    for failing in [1, 2, 7] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = directory.path().join("strace");
        let data = directory.path().join("data");
        let output = Command::new("strace")
            .args(["-f", "-qq", "-e", "trace=fdatasync", "-e"])
            .arg(format!("inject=fdatasync:error=EIO:when={failing}"))
            .arg("-o")
            .arg(&log)
            .arg(env::current_exe().expect("this binary"))
            .args(["child_that_meets_a_failed_sync", "--exact", "--nocapture"])
            .env(CHILD, &data)
            .stdin(Stdio::null())
            .output();
        let Some(output) = output.ok().filter(|output| !is_refused(output)) else {
            eprintln!("not run: there is no strace here, or it may not trace");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let log = fs::read_to_string(&log).expect("traced");
        // A call that another thread interrupts is logged in two lines; the second has no bracket.
        let syncs = log.lines().filter(|line| line.contains("fdatasync(")).count();
        assert_eq!(syncs, failing, "no sync after the one that failed:\n{log}");
        let (_, durable) = text.split_once("durable ").expect("told");
        let durable: usize = durable.split_whitespace().next().and_then(|text| text.parse().ok()).expect("a number");

        let (_store, shard) = open(&data, &options());
        let mut found = 0;
        shard.load_state(&mut |_, value| found = value.len()).expect("shown");
        assert!(found >= durable, "{durable} bytes were durable and {found} are there");
    }
}

/// Whether strace may not trace here, as in some containers.
fn is_refused(output: &std::process::Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("ptrace")
}

const MEMTABLE_BYTES: u64 = 64 << 10;

/// A store that has nowhere to flush to.
fn open_without_tables(directory: &Path) -> (Arc<FjallStore>, Arc<dyn ShardStore>) {
    let opened = open(directory, &OpenOptions { memtable_bytes_if_new: MEMTABLE_BYTES, ..options() });
    for entry in fs::read_dir(directory.join("fjall/keyspaces")).expect("listed") {
        fs::remove_dir_all(entry.expect("an entry").path()).expect("removed");
    }
    opened
}

#[test]
fn a_commit_does_not_wait_for_ever_for_a_flusher_that_has_died() {
    // Often, for it takes a few commits between the death of the flusher and its discovery.
    for _ in 0..10 {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (store, shard) = open_without_tables(directory.path());
        // Far more than may be sealed: on a busy machine fjall may take its time to flush and fail.
        let failed = (0..1000 * SEALED_MEMTABLES_MAX)
            .find_map(|_| wait(shard.commit(set(b"big", 2 * MEMTABLE_BYTES as usize))).err())
            .expect("nothing can be flushed");
        assert_eq!(store.failure().expect("latched").to_string(), failed.to_string());
        store.close().expect_err("closing does not wait either");
    }
}

#[test]
fn a_failed_flush_is_noticed_by_a_store_that_nobody_asks() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (store, shard) = open_without_tables(directory.path());
    // More than the memory for it: fjall flushes behind our back and fails.
    wait(shard.commit(set(b"big", 2 * MEMTABLE_BYTES as usize))).expect("written");
    for _ in 0..500 {
        if store.failure().is_some() {
            break;
        }
        // No event tells it; the store itself looks twice a second.
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert!(store.failure().expect("noticed").to_string().contains("Poisoned"));
    check_latched(&store, &shard, directory.path());
}

#[test]
fn a_closed_store_refuses_without_a_failure() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (store, shard) = open(directory.path(), &options());
    let commit = wait(shard.commit(set(b"a", 1))).expect("written");
    store.close().expect("closes");
    assert_eq!(wait(shard.durable(commit)).expect("closing made it durable").commit(), commit);
    wait(shard.commit(set(b"b", 1))).expect_err("closed");
    wait(shard.read(vec![])).expect_err("closed");
    assert!(store.failure().is_none(), "a clean stop is no failure");
    store.close().expect("closing again changes nothing");
}

#[test]
fn damaged_tables_are_reported_and_not_served() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let timeline = punctual_types::TimelineId::main(punctual_types::TopicNumber(1), punctual_types::PartitionNumber(0));
    let position = punctual_types::Position::new(Time::ZERO, punctual_types::Seq(1));
    let record = Bytes::from(vec![0x5a; 1000]);
    {
        let (store, shard) = open(directory.path(), &options());
        let insert = Write::Insert { timeline, position, record: record.clone() };
        wait(shard.commit(Batch { now: Time::ZERO, writes: vec![insert] })).expect("written");
        store.flush().expect("flushes");
        store.close().expect("closes");
    }
    let mut folders = vec![directory.path().join("fjall/keyspaces")];
    let mut damaged = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut bytes = fs::read(&path).expect("read");
            if let Some(at) = bytes.windows(1000).position(|window| window == record) {
                bytes[at + 500] ^= 1;
                fs::write(&path, bytes).expect("written");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0, "the record lies in a table");
    let options = OpenOptions { cache_bytes: 0, ..options() };
    match FjallStore::open(directory.path(), &options) {
        Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error}"),
        Ok(store) => {
            let shard = store.shard(ShardNumber(0)).expect("a shard");
            let reply: Result<Vec<ReadReply>, _> = wait(shard.read(vec![Read::Record { timeline, position }]));
            let error = reply.expect_err("damaged bytes are not served");
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
            assert!(store.failure().is_none(), "a failed read breaks no promise");
        }
    }
}
