//! The bounds of limits.rs, each met.

use std::{
    fs,
    sync::{Arc, mpsc},
    time::Duration,
};

use bytes::Bytes;
use punctual_store_api::{
    ShardStore, Store,
    testing::{ready, wait},
};
use punctual_store_fjall::{
    FjallStore, OpenOptions,
    limits::{
        CACHE_BYTES_DEFAULT, COUNT_INLINE_MAX, COUNTS_QUEUED_MAX, JOURNALS_BYTES_MAX, MEMTABLE_BYTES_MAX,
        RECLAIM_EVERY, UNSYNCED_MAX, WORKER_THREADS,
    },
};
use punctual_types::{
    Batch, Counted, Mark, Offset, PartitionNumber, Position, Read, ReadReply, Seq, ShardNumber, Time, TimelineId,
    TopicNumber, Write,
};
use tempfile::TempDir;

const TIMELINE: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));
/// A journal is this long before fjall begins another.
const JOURNAL_BYTES: u64 = 64 << 20;
/// Long enough for a slow machine, never waited for on a sound one.
const PATIENCE: Duration = Duration::from_secs(20);

struct Opened {
    store: Arc<FjallStore>,
    shard: Arc<dyn ShardStore>,
    directory: TempDir,
}

fn options() -> OpenOptions {
    OpenOptions::new(1, [1; 16])
}

fn open(options: &OpenOptions) -> Opened {
    let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a temporary directory");
    let store = FjallStore::open(directory.path(), options).expect("opens");
    let shard = store.shard(ShardNumber(0)).expect("a shard");
    Opened { store, shard, directory }
}

impl Opened {
    fn commit(&self, writes: Vec<Write>) -> punctual_types::CommitNumber {
        wait(self.shard.commit(Batch { now: Time::ZERO, writes })).expect("written")
    }

    fn durably(&self, writes: Vec<Write>) {
        let commit = self.commit(writes);
        assert_eq!(wait(self.shard.durable(commit)).expect("durable").commit(), commit);
    }
}

fn at(seq: u64) -> Position {
    Position::new(Time::ZERO, Seq(seq))
}

fn insert(seq: u64, bytes: usize) -> Write {
    Write::Insert { timeline: TIMELINE, position: at(seq), record: Bytes::from(vec![seq as u8; bytes]) }
}

fn set(bytes: usize) -> Write {
    Write::SetState { key: Bytes::from_static(b"state"), value: Some(Bytes::from(vec![7; bytes])) }
}

fn raise_floor(passed: u64) -> Write {
    Write::RaiseFloor { timeline: TIMELINE, mark: Mark { offset: Offset(passed), position: at(passed) } }
}

/// Waits for something that no event tells.
fn until(mut happened: impl FnMut() -> bool) {
    let pause = Duration::from_millis(5);
    for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
        if happened() {
            return;
        }
        std::thread::park_timeout(pause);
    }
    panic!("it did not happen");
}

#[test]
fn what_is_written_goes_to_tables_and_memory_stays_within_its_bounds() {
    let opened = open(&options());
    assert_eq!(options().memtable_bytes_if_new, MEMTABLE_BYTES_MAX);
    assert_eq!(options().cache_bytes, CACHE_BYTES_DEFAULT);
    let record_bytes = 64 << 10;
    let records = 2 * MEMTABLE_BYTES_MAX / record_bytes;
    for seq in 1..=records {
        opened.commit(vec![insert(seq, record_bytes as usize)]);
    }
    until(|| opened.store.stored().expect("counted").table_bytes >= MEMTABLE_BYTES_MAX);
    opened.store.flush().expect("flushes");
    // Read twice, so that the cache is as full as it gets.
    for _ in 0..2 {
        for seq in 1..=records {
            let replies = wait(opened.shard.read(vec![Read::Record { timeline: TIMELINE, position: at(seq) }]));
            assert_eq!(
                replies.expect("answered"),
                [ReadReply::Record(Some(vec![seq as u8; record_bytes as usize].into()))]
            );
        }
    }
    let memory_bytes = opened.store.usage().memory_bytes;
    assert!(memory_bytes <= CACHE_BYTES_DEFAULT + (1 << 20), "{memory_bytes} bytes in memory after a flush");
}

#[test]
fn journals_stay_within_their_bound_also_when_nothing_but_state_is_written() {
    let opened = open(&options());
    let piece = 1 << 20;
    let write_state = |bytes| {
        (0..bytes / piece).for_each(|_| {
            opened.commit(vec![set(piece as usize)]);
        })
    };
    // A journal is sealed while it holds records that are not flushed, and then their tables go.
    opened.durably((1..=1000).map(|seq| insert(seq, 100)).collect());
    opened.durably(vec![raise_floor(1000)]);
    write_state(3 * JOURNAL_BYTES);
    opened.store.flush_records().expect("flushes");
    assert_eq!(opened.store.drop_dead_tables().expect("searched"), 1);
    write_state(JOURNALS_BYTES_MAX + 4 * JOURNAL_BYTES);
    let bound = JOURNALS_BYTES_MAX + 2 * JOURNAL_BYTES;
    until(|| journals_bytes(&opened.directory) <= bound);
}

fn journals_bytes(directory: &TempDir) -> u64 {
    let entries = fs::read_dir(directory.path().join("fjall")).expect("listed");
    let journals = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "jnl"));
    // One that was deleted since the listing is no longer there to be measured.
    journals.filter_map(|journal| Some(journal.metadata().ok()?.len())).sum()
}

#[test]
fn fjall_has_a_thread_to_flush_with_while_another_compacts() {
    const { assert!(WORKER_THREADS >= 2) };
    let _opened = open(&options());
    let named = fs::read_dir("/proc/self/task").expect("listed").filter(|task| {
        let comm = task.as_ref().expect("a thread").path().join("comm");
        fs::read_to_string(comm).is_ok_and(|name| name.starts_with("fjall:worker"))
    });
    // Other tests of this process have theirs.
    assert!(named.count() >= WORKER_THREADS);
}

#[test]
fn a_commit_that_nobody_asks_for_is_synced_all_the_same() {
    let opened = open(&options());
    let (told, syncs) = mpsc::sync_channel(100);
    opened.store.observe_syncs(Arc::new(move |_, commits| {
        let _ = told.try_send(commits);
    }));
    opened.commit(vec![set(1)]);
    opened.commit(vec![set(2)]);
    assert!(UNSYNCED_MAX < Duration::from_secs(1), "what the trait promises");
    let mut covered = 0;
    while covered < 2 {
        covered += syncs.recv_timeout(PATIENCE).expect("synced unasked");
    }
    assert_eq!(covered, 2);
}

#[test]
fn dead_tables_are_found_without_being_asked_for() {
    assert_eq!(options().reclaim_every, RECLAIM_EVERY);
    let opened = open(&OpenOptions { reclaim_every: Duration::from_millis(20), ..options() });
    opened.durably((1..=1000).map(|seq| insert(seq, 100)).collect());
    opened.store.flush().expect("flushes");
    assert!(opened.store.stored().expect("counted").records >= 1000);
    opened.durably(vec![raise_floor(1000)]);
    until(|| opened.store.stored().expect("counted").records == 0);
}

fn count() -> Read {
    Read::Count { timeline: TIMELINE, after: Position::MIN, to: Position::MAX, bucket_ms: 60_000 }
}

fn counted(count: u64) -> ReadReply {
    ReadReply::Counts(vec![Counted { from: Time::ZERO, count }])
}

#[test]
fn a_count_is_right_on_either_side_of_what_is_counted_at_once() {
    let opened = open(&options());
    opened.commit((1..COUNT_INLINE_MAX).map(|seq| insert(seq, 1)).collect());
    for records in COUNT_INLINE_MAX - 1..COUNT_INLINE_MAX + 2 {
        let mut answer = opened.shard.read(vec![count()]);
        let at_once = ready(&mut answer);
        assert!(records >= COUNT_INLINE_MAX || at_once.is_some(), "a short count is answered at once");
        let replies = at_once.unwrap_or_else(|| wait(answer)).expect("answered");
        assert_eq!(replies, [counted(records)]);
        opened.commit(vec![insert(records + 1, 1)]);
    }
}

#[test]
fn more_long_counts_than_may_queue_are_all_answered() {
    let opened = open(&options());
    let records = COUNT_INLINE_MAX + 1000;
    opened.commit((1..=records).map(|seq| insert(seq, 1)).collect());
    let mut answers: Vec<_> = (0..COUNTS_QUEUED_MAX + 10).map(|_| opened.shard.read(vec![count()])).collect();
    // All are begun before any is waited for.
    let mut early: Vec<_> = answers.iter_mut().map(ready).collect();
    for (answer, early) in answers.into_iter().zip(&mut early) {
        let replies = early.take().unwrap_or_else(|| wait(answer)).expect("answered");
        assert_eq!(replies, [counted(records)]);
    }
}
