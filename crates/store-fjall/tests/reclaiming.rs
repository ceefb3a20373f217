//! Space below the floors is given back, and nothing above them.

use std::sync::Arc;

use bytes::Bytes;
use punctual_store_api::{
    ShardStore, Store,
    testing::{Harness, wait},
};
use punctual_store_fjall::FjallStore;
use punctual_types::{
    Batch, IndexEntry, IndexKind, IndexPlace, Lane, Mark, Offset, PartitionNumber, Position, Read, ReadReply, Seq,
    ShardNumber, Time, TimelineId, TopicNumber, Write,
};

mod on_disk;
use on_disk::OnDisk;

const MAIN: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));
const OTHER: TimelineId = TimelineId::main(TopicNumber(2), PartitionNumber(0));
const RECORDS: u64 = 20_000;
/// A little over a table's worth of them is dead in every test.
const RECORD_BYTES: usize = 200;

fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("in range")
}

fn at(n: u64) -> Position {
    Position::new(time(1000 + n), Seq(n + 1))
}

fn record(n: u64) -> Bytes {
    // Not compressible, so that bytes on the disk are telling.
    let mut word = n;
    let words = std::iter::repeat_with(move || {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (word >> 33) as u8
    });
    words.take(RECORD_BYTES).collect()
}

fn door(store: &FjallStore) -> Arc<dyn ShardStore> {
    store.shard(ShardNumber(0)).expect("a shard")
}

/// Commits and waits until it is durable.
fn commit(store: &FjallStore, now: u64, writes: Vec<Write>) {
    let shard = door(store);
    let commit = wait(shard.commit(Batch { now: time(now), writes })).expect("written");
    assert_eq!(wait(shard.durable(commit)).expect("durable").commit(), commit);
}

fn fill(store: &FjallStore, timeline: TimelineId) {
    for first in (0..RECORDS).step_by(1000) {
        let insert = |n| Write::Insert { timeline, position: at(n), record: record(n) };
        let mark = Mark { offset: Offset(first), position: at(first.saturating_sub(1)) };
        let mut writes: Vec<Write> = (first..first + 1000).map(insert).collect();
        if first > 0 {
            writes.push(Write::Anchor { timeline, mark });
        }
        commit(store, 0, writes);
    }
}

fn raise(store: &FjallStore, timeline: TimelineId, passed: u64) {
    let mark = Mark { offset: Offset(passed), position: at(passed - 1) };
    commit(store, 0, vec![Write::RaiseFloor { timeline, mark }]);
}

/// Everything from the floor on is there, unchanged and at its offset.
fn check(store: &FjallStore, timeline: TimelineId, floor: u64) {
    let window = Read::Window {
        timeline,
        after: Position::MIN,
        to: Position::MAX,
        limit: u32::MAX,
        bytes_max: u64::MAX,
        values: true,
    };
    let offset = |n| Read::OffsetOf { timeline, position: at(n) };
    let reads = vec![window, offset(floor), offset(floor + 1), offset(RECORDS - 1), offset(floor - 1)];
    let replies = wait(door(store).read(reads)).expect("answered");
    let ReadReply::Records(records) = &replies[0] else { panic!("a window was asked for") };
    assert_eq!(records.len() as u64, RECORDS - floor);
    for (found, n) in records.iter().zip(floor..) {
        assert_eq!((found.position, &found.value), (at(n), &record(n)));
    }
    let offsets = [Some(floor), Some(floor + 1), Some(RECORDS - 1), None].map(|n| ReadReply::Offset(n.map(Offset)));
    assert_eq!(replies[1..], offsets);
}

#[test]
fn compaction_gives_back_what_lies_below_the_floor_and_nothing_else() {
    let disk = OnDisk::create(2);
    fill(&disk.store, MAIN);
    fill(&disk.store, OTHER);
    disk.store.compact().expect("compacts");
    let full = disk.store.stored().expect("counted");
    assert_eq!(full.records as u64, 2 * RECORDS, "nothing is dropped without a floor");

    raise(&disk.store, MAIN, RECORDS * 3 / 4);
    check(&disk.store, MAIN, RECORDS * 3 / 4);
    disk.store.compact().expect("compacts");
    let left = disk.store.stored().expect("counted");
    assert_eq!(left.records as u64, RECORDS + RECORDS / 4);
    assert!(left.state < full.state - 20, "anchors below the floor go too: {left:?} of {full:?}");
    assert!(left.table_bytes < full.table_bytes * 3 / 4, "{left:?} of {full:?}");
    check(&disk.store, MAIN, RECORDS * 3 / 4);

    let disk = disk.reopen();
    check(&disk.store, MAIN, RECORDS * 3 / 4);
    disk.store.compact().expect("compacts");
    check(&disk.store, MAIN, RECORDS * 3 / 4);
    raise(&disk.store, OTHER, 1);
    check(&disk.store, OTHER, 1);
}

#[test]
fn a_table_that_is_dead_from_end_to_end_is_dropped_without_being_read() {
    let disk = OnDisk::create(2);
    fill(&disk.store, MAIN);
    disk.store.flush().expect("flushes");
    fill(&disk.store, OTHER);
    disk.store.flush().expect("flushes");
    let full = disk.store.stored().expect("counted");
    assert_eq!(disk.store.drop_dead_tables().expect("searched"), 0, "nothing is dead without a floor");

    raise(&disk.store, MAIN, RECORDS - 1);
    assert_eq!(disk.store.drop_dead_tables().expect("searched"), 0, "one record is alive");

    raise(&disk.store, MAIN, RECORDS);
    assert_eq!(disk.store.drop_dead_tables().expect("searched"), 1);
    let left = disk.store.stored().expect("counted");
    assert_eq!(left.records as u64, RECORDS);
    assert!(left.table_bytes < full.table_bytes * 6 / 10, "{left:?} of {full:?}");
    let disk = disk.reopen();
    assert_eq!(disk.store.stored().expect("counted").records as u64, RECORDS);
    let after = Position::new(time(5), Seq(RECORDS + 1));
    commit(
        &disk.store,
        0,
        vec![Write::Insert { timeline: OTHER.lane(Lane::Check), position: after, record: record(1) }],
    );
    raise(&disk.store, OTHER, 1);
    check(&disk.store, OTHER, 1);
}

fn entry(seq: u64, expires_at: u64) -> IndexEntry {
    let position = at(seq);
    IndexEntry { priority: 0, first: position, position, outcome: 0, at: time(1), expires_at: time(expires_at) }
}

fn place(handle: u64) -> IndexPlace {
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&handle.to_be_bytes());
    IndexPlace { index: IndexKind::Dedup, topic: TopicNumber(1), partition: PartitionNumber(0), hash }
}

fn put(handle: u64, entry: IndexEntry) -> Write {
    Write::PutIndex { place: place(handle), entry }
}

fn look_up(store: &FjallStore, handle: u64) -> ReadReply {
    wait(door(store).read(vec![Read::Lookup(place(handle))])).expect("answered").remove(0)
}

#[test]
fn index_entries_go_after_their_time_and_not_before() {
    let disk = OnDisk::create(2);
    commit(&disk.store, 0, (0..1000).map(|n| put(n, entry(n, 5000 + n))).collect());
    commit(&disk.store, 5500, vec![]);
    disk.store.compact().expect("compacts");
    assert_eq!(disk.store.stored().expect("counted").index, 500);
    assert_eq!(look_up(&disk.store, 499), ReadReply::Entry(None));
    assert_eq!(look_up(&disk.store, 500), ReadReply::Entry(Some(entry(500, 5500))));
    // After a restart nobody knows the time until the first batch tells it.
    let disk = disk.reopen();
    disk.store.compact().expect("compacts");
    assert_eq!(disk.store.stored().expect("counted").index, 500);
}

#[test]
fn an_older_entry_does_not_come_up_again_when_a_newer_one_expires() {
    for compact_first in [false, true] {
        let disk = OnDisk::create(2);
        commit(&disk.store, 0, vec![put(1, entry(1, 900_000)), put(2, entry(2, 900_000))]);
        if compact_first {
            // So that the older version lies a level below the newer.
            disk.store.compact().expect("compacts");
        }
        commit(&disk.store, 0, vec![put(1, entry(3, 5000))]);
        commit(&disk.store, 6000, vec![]);
        disk.store.compact().expect("compacts");
        assert_eq!(look_up(&disk.store, 1), ReadReply::Entry(None));
        assert_eq!(look_up(&disk.store, 2), ReadReply::Entry(Some(entry(2, 900_000))));
        // The journal may bring the expired one back, which is allowed; never the one before it.
        let disk = disk.reopen();
        let newer = ReadReply::Entry(Some(entry(3, 5000)));
        assert!([ReadReply::Entry(None), newer].contains(&look_up(&disk.store, 1)));
    }
}
