//! Folds and merges on one thread, commits and reads on others.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::{
    desk::{TIMELINE, at, commit, everything, insert, open, position, read, sorted},
    on_disk::options,
};
use punctual_store_api::Store;
use punctual_tide::{OpenOptions, Syncing, TideStore, vfs::SimulatedDisk};
use punctual_types::{Mark, Offset, Position, Read, ReadReply, ShardNumber, Write};

/// Commits and reads on one thread, syncs and folds on another.
#[test]
fn folding_beside_commits_and_reads_changes_no_answer() {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    let is_over = AtomicBool::new(false);
    let mut alive = BTreeMap::new();
    let mut floor = Position::MIN;
    let mut passed = 0;
    thread::scope(|scope| {
        // Also when an answer is wrong: the scope waits for its threads.
        let _ends = Ends(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.sync().expect("synced");
            }
        });
        for seq in 1..=6_000_u64 {
            // Ever further ahead, so that the floor can follow.
            let inserted = at(seq * 10 + seq * 7919 % 50_000, seq);
            let mut writes = vec![insert(inserted)];
            alive.insert(inserted, ());
            if seq % 3 == 0 {
                let removed = *alive.keys().nth(seq as usize * 31 % alive.len()).expect("one");
                alive.remove(&removed);
                writes.push(Write::Remove { timeline: TIMELINE, position: removed });
            }
            if seq % 50 == 0 {
                let line = at(seq * 10, 0);
                passed += alive.range(..=line).count() as u64;
                alive = alive.split_off(&line);
                floor = floor.max(line);
                writes.push(Write::RaiseFloor {
                    timeline: TIMELINE,
                    mark: Mark { offset: Offset(passed), position: floor },
                });
            }
            commit(&door, writes);
            if seq % 20 == 0 {
                let expected: Vec<Position> = alive.keys().copied().collect();
                assert_eq!(everything(&door), expected, "after {seq}");
            }
            if let Some((position, _)) = alive.iter().nth(seq as usize % 97) {
                let offset = read(&door, Read::OffsetOf { timeline: TIMELINE, position: *position });
                assert_eq!(offset, ReadReply::Offset(Some(Offset(passed + seq % 97))), "after {seq}");
            }
        }
    });
    let figures = store.figures();
    assert!(figures.folds > 10 && figures.merges > 3, "{figures:?}");
    drop((store, door));
    let (_store, door) = open(&disk);
    assert_eq!(everything(&door), alive.keys().copied().collect::<Vec<_>>());
}

/// Commits so small that a segment is full every few of them, from several threads, beside folds: a
/// fold finds commits that are in the journal and not yet in memory.
#[test]
fn folding_beside_many_writers_loses_nothing() {
    const SHARDS: u16 = 4;
    let disk = SimulatedDisk::default();
    let options = OpenOptions { segment_bytes: 512, fold_bytes: 512, ..options(SHARDS, Syncing::ByHand) };
    let store = TideStore::open_on(Arc::new(disk.clone()), &options).expect("opens");
    let is_over = AtomicBool::new(false);
    let doors: Vec<_> = (0..SHARDS).map(|shard| store.shard(ShardNumber(shard)).expect("a shard")).collect();
    let written: Vec<u64> = thread::scope(|scope| {
        let _ends = Ends(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.sync().expect("synced");
            }
        });
        let write = |door| {
            let seqs = (1..).take_while(|seq| *seq < 100 || store.figures().folds < 40);
            seqs.inspect(|seq| commit(door, vec![insert(position(*seq))])).last().expect("many")
        };
        let writers: Vec<_> = doors.iter().map(|door| scope.spawn(move || write(door))).collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
    });
    for (door, written) in doors.iter().zip(written) {
        assert_eq!(everything(door), sorted((1..=written).map(position)));
    }
}

/// Says that it is over, however it ends.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
