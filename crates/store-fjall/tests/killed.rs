//! A process that is killed while it commits: what it was told is written is there afterwards, and
//! so is what it was told is durable.
//!
//! The child is this test binary again. It writes to its output only what the store has answered.

use std::{
    env,
    io::{BufRead, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use bytes::Bytes;
use punctual_store_api::{ShardStore, Store, testing::wait};
use punctual_store_fjall::{FjallStore, OpenOptions};
use punctual_types::{
    Batch, PartitionNumber, Position, Read, ReadReply, Seq, ShardNumber, Time, TimelineId, TopicNumber, Write,
};

const SHARDS: u16 = 2;
/// Set for the child: the directory in which it commits.
const CHILD: &str = "PUNCTUAL_TEST_KILLED_DIRECTORY";
const TIMELINE: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));
/// Records of a batch, so that half a batch would show.
const BATCH: u64 = 10;

fn open(path: &Path) -> Arc<FjallStore> {
    // Small memtables, so that flushes and compactions are killed as well.
    let options = OpenOptions { memtable_bytes_if_new: 256 << 10, ..OpenOptions::new(SHARDS, [3; 16]) };
    FjallStore::open(path, &options).expect("opens")
}

fn position(seq: u64) -> Position {
    Position::new(Time::from_unix_ms(seq * 7919 % 100_000).expect("in range"), Seq(seq))
}

fn record(shard: u16, seq: u64) -> Bytes {
    Bytes::from(format!("{shard}/{seq}/").repeat(30))
}

/// How many batches a shard holds; fails when it holds anything but whole batches from the first.
fn batches(shard: u16, store: &Arc<dyn ShardStore>) -> u64 {
    let window = Read::Window {
        timeline: TIMELINE,
        after: Position::MIN,
        to: Position::MAX,
        limit: u32::MAX,
        bytes_max: u64::MAX,
        values: true,
    };
    let replies = wait(store.read(vec![window])).expect("answered");
    let ReadReply::Records(mut found) = replies.into_iter().next().expect("one") else { panic!("records") };
    found.sort_by_key(|found| found.position.seq);
    for (found, seq) in found.iter().zip(1..) {
        assert_eq!((found.position, &found.value), (position(seq), &record(shard, seq)), "shard {shard}");
    }
    let count = found.len() as u64;
    assert_eq!(count % BATCH, 0, "shard {shard} has half a batch");
    let mut state = Vec::new();
    store.load_state(&mut |_, value| state.push(value)).expect("shown");
    let expected = if count == 0 { vec![] } else { vec![Bytes::from((count / BATCH).to_string())] };
    assert_eq!(state, expected, "shard {shard}: records and state of one batch");
    count / BATCH
}

/// The child: commits on two shards at once and tells what is written and durable, until it is killed.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Some(directory) = env::var_os(CHILD) else { return };
    let store = open(directory.as_ref());
    std::thread::scope(|scope| {
        for number in 0..SHARDS {
            let shard = store.shard(ShardNumber(number)).expect("a shard");
            scope.spawn(move || {
                for batch in batches(number, &shard) + 1.. {
                    let insert = |seq| Write::Insert {
                        timeline: TIMELINE,
                        position: position(seq),
                        record: record(number, seq),
                    };
                    let mut writes: Vec<Write> = ((batch - 1) * BATCH + 1..=batch * BATCH).map(insert).collect();
                    let value = Some(Bytes::from(batch.to_string()));
                    writes.push(Write::SetState { key: Bytes::from_static(b"last"), value });
                    let commit = wait(shard.commit(Batch { now: Time::ZERO, writes })).expect("written");
                    writeln!(std::io::stdout(), "written {number} {batch}").expect("the parent listens");
                    assert_eq!(wait(shard.durable(commit)).expect("durable").commit(), commit);
                    writeln!(std::io::stdout(), "durable {number} {batch}").expect("the parent listens");
                }
            });
        }
    });
}

fn start_child(directory: &Path) -> Child {
    Command::new(env::current_exe().expect("this binary"))
        .args(["child_that_commits_until_it_is_killed", "--exact", "--nocapture"])
        .env(CHILD, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts")
}

#[test]
fn every_commit_that_was_answered_survives_kill_9() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut told = [0; SHARDS as usize];
    // Killed early, in the middle of flushes, and late.
    for lines in [1, 7, 40, 150, 3, 80, 400, 20, 300, 11, 600, 60] {
        let mut child = start_child(directory.path());
        let mut output = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut note = |line: &str| {
            // The test runner writes a few lines of its own.
            let told_of = line.split_once("durable ").or_else(|| line.split_once("written "));
            let Some((shard, batch)) = told_of.and_then(|(_, rest)| rest.split_once(' ')) else { return false };
            let shard: usize = shard.parse().expect("a shard");
            told[shard] = batch.parse::<u64>().expect("a batch");
            true
        };
        let mut heard = 0;
        while heard < lines {
            let line = output.next().expect("the child goes on until it is killed").expect("text");
            heard += u32::from(note(&line));
        }
        child.kill().expect("killed");
        child.wait().expect("gone");
        // What it still told before it died counts too. A line may be cut off: then it was not told.
        let rest: Vec<String> = output.map_while(Result::ok).collect();
        for line in rest.iter().filter(|line| line.len() >= "durable 0 1".len()) {
            let cut_off = rest.last() == Some(line);
            if !cut_off {
                note(line);
            }
        }

        let store = open(directory.path());
        for number in 0..SHARDS {
            let found = batches(number, &store.shard(ShardNumber(number)).expect("a shard"));
            let told = told[usize::from(number)];
            assert!(found >= told, "shard {number}: {told} batches were answered and {found} are there");
        }
    }
    assert!(told.iter().all(|told| *told > 50), "the children did commit: {told:?}");
}
