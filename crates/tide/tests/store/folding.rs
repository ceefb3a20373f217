//! The oldest of the journal becomes runs, and nobody can tell.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    desk::{TIMELINE, at, commit, everything, fold, insert, open, position, read, sorted, value},
    on_disk::{SECRET, options},
};
use bytes::Bytes;
use punctual_store_api::Store;
use punctual_tide::{
    OpenOptions, Syncing, TideStore, limits,
    vfs::{SimulatedDisk, Vfs},
};
use punctual_types::{Mark, Offset, Position, Read, ReadReply, Seq, ShardNumber, Write};

#[test]
fn records_are_found_in_runs_and_what_was_removed_before_and_after_is_not() {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    let all = sorted((1..=600).map(position));
    for piece in (1..=600).collect::<Vec<u64>>().chunks(20) {
        commit(&door, piece.iter().map(|seq| insert(position(*seq))).collect());
        store.sync().expect("synced");
    }
    commit(&door, vec![Write::Remove { timeline: TIMELINE, position: all[50] }]);
    fold(&store, &door);
    commit(&door, vec![Write::Remove { timeline: TIMELINE, position: all[60] }]);
    let (after, to) = (all[99], all[199]);
    commit(&door, vec![Write::RemoveRange { timeline: TIMELINE, after, to, seq_max: Seq(300) }]);
    fold(&store, &door);
    let left: Vec<Position> = all
        .iter()
        .copied()
        .filter(|position| *position != all[50] && *position != all[60])
        .filter(|position| !(*position > after && *position <= to && position.seq <= Seq(300)))
        .collect();
    assert_eq!(everything(&door), left);
    assert!(store.figures().runs > 1, "{:?}", store.figures());
    // Several folds more, and a start: tombstones are carried on.
    for _ in 0..3 {
        fold(&store, &door);
    }
    drop((store, door));
    let (store, door) = open(&disk);
    assert_eq!(everything(&door), left);
    for position in &all {
        let expected = left.contains(position).then(|| value(*position));
        assert_eq!(read(&door, Read::Record { timeline: TIMELINE, position: *position }), ReadReply::Record(expected));
    }
    for (passed, position) in (0..).zip(&left) {
        let offset = read(&door, Read::OffsetOf { timeline: TIMELINE, position: *position });
        assert_eq!(offset, ReadReply::Offset(Some(Offset(passed))));
    }
    let mark = Mark { offset: Offset(250), position: left[249] };
    commit(&door, vec![Write::RaiseFloor { timeline: TIMELINE, mark }]);
    fold(&store, &door);
    assert_eq!(everything(&door), left[250..]);
    let offset = read(&door, Read::OffsetOf { timeline: TIMELINE, position: left[300] });
    assert_eq!(offset, ReadReply::Offset(Some(Offset(300))));
}

#[test]
fn what_floors_have_passed_by_the_fold_never_reaches_a_run() {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    for seq in 1..=2_000 {
        commit(&door, vec![insert(at(seq, seq))]);
        if seq > 3 {
            let mark = Mark { offset: Offset(seq - 3), position: at(seq - 3, seq - 3) };
            commit(&door, vec![Write::RaiseFloor { timeline: TIMELINE, mark }]);
        }
        store.sync().expect("synced");
    }
    let figures = store.figures();
    assert!(figures.folds > 5, "{figures:?}");
    assert_eq!((figures.runs, figures.run_bytes), (0, 0));
    assert_eq!(everything(&door).len(), 3);
    assert!(figures.journal_bytes < 10 * (4 << 10), "the journal is cut: {figures:?}");
}

#[test]
fn a_run_whose_records_are_all_below_the_floor_is_removed() {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    for seq in 1..=300 {
        commit(&door, vec![insert(position(seq))]);
        store.sync().expect("synced");
    }
    fold(&store, &door);
    let runs =
        |disk: &SimulatedDisk| disk.list().expect("listed").iter().filter(|name| name.starts_with("run.")).count();
    assert_eq!(runs(&disk) as u64, store.figures().runs);
    assert!(runs(&disk) > 0);
    let mark = Mark { offset: Offset(300), position: Position::MAX };
    commit(&door, vec![Write::RaiseFloor { timeline: TIMELINE, mark }]);
    fold(&store, &door);
    assert_eq!((runs(&disk), store.figures().runs), (0, 0));
}

#[test]
fn runs_stay_few_and_shed_what_was_removed() {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    let mut most = 0;
    for seq in 1..=3_000 {
        commit(&door, vec![insert(position(seq))]);
        if seq % 10 == 0 {
            store.sync().expect("synced");
            most = most.max(store.figures().runs);
        }
    }
    let figures = store.figures();
    assert!(figures.folds > 25 && figures.merges > 9 && most < 12, "at most {most}, then {figures:?}");
    assert_eq!(everything(&door), sorted((1..=3_000).map(position)));
    // Nine of ten are removed from the runs they lie in, and merging gives their space back.
    let is_left = |seq: &u64| seq.is_multiple_of(10);
    for seq in (1..=3_000).filter(|seq| !is_left(seq)) {
        commit(&door, vec![Write::Remove { timeline: TIMELINE, position: position(seq) }]);
    }
    for seq in 3_001..=4_500 {
        commit(&door, vec![insert(position(seq))]);
        store.sync().expect("synced");
    }
    let left = sorted((1..=4_500).filter(|seq| is_left(seq) || *seq > 3_000).map(position));
    assert_eq!(everything(&door), left);
    drop((store, door));
    let (_store, door) = open(&disk);
    assert_eq!(everything(&door), left);
    assert_eq!(OpenOptions::new(1, SECRET).merge_runs, limits::MERGE_RUNS);
}

#[test]
fn a_timeline_longer_than_a_piece_is_folded_whole() {
    assert_eq!(OpenOptions::new(1, SECRET).fold_bytes, limits::FOLD_BYTES);
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    let count = limits::FOLD_CHUNK as u64 * 2 + 1;
    commit(&door, (1..=count).map(|seq| insert(position(seq))).collect());
    fold(&store, &door);
    assert_eq!(everything(&door), sorted((1..=count).map(position)));
}

#[test]
fn a_store_folds_by_itself() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = TideStore::open(directory.path(), &options(1, Syncing::ByThread)).expect("opens");
    let door = store.shard(ShardNumber(0)).expect("a shard");
    for seq in 1..=400 {
        commit(&door, vec![insert(position(seq))]);
    }
    // Asked now and then, far longer than it may take.
    let is_folded = (0..1_000).any(|_| {
        thread::park_timeout(limits::FOLD_LOOK);
        store.figures().folds > 0
    });
    assert!(is_folded);
    assert_eq!(everything(&door), sorted((1..=400).map(position)));
}

#[test]
fn what_is_removed_while_its_run_is_written_stays_removed() {
    for kind in ["fold", "merge"] {
        let disk = SimulatedDisk::default();
        let (store, door) = open(&disk);
        let all = sorted((1..=100).map(position));
        commit(&door, all.iter().copied().map(insert).collect());
        if kind == "merge" {
            // Two runs more, so that the third makes a merge due.
            fold(&store, &door);
            commit(&door, vec![insert(at(200_001, 101))]);
            fold(&store, &door);
            commit(&door, vec![insert(at(200_002, 102))]);
        }
        let interrupted = door.clone();
        let (position, after, to) = (all[10], all[19], all[29]);
        let mark = Mark { offset: Offset(5), position: all[4] };
        disk.interrupt("run.", move || {
            commit(
                &interrupted,
                vec![
                    Write::Remove { timeline: TIMELINE, position },
                    Write::RemoveRange { timeline: TIMELINE, after, to, seq_max: Seq(1_000) },
                    Write::RaiseFloor { timeline: TIMELINE, mark },
                ],
            );
        });
        fold(&store, &door);
        let mut left = [&all[5..10], &all[11..20], &all[30..]].concat();
        if kind == "merge" {
            left.extend([at(200_001, 101), at(200_002, 102)]);
        }
        assert_eq!(everything(&door), left, "{kind}");
        for _ in 0..4 {
            fold(&store, &door);
            assert_eq!(everything(&door), left, "{kind}, and folds after");
        }
        drop((store, door));
        let (_store, door) = open(&disk);
        assert_eq!(everything(&door), left, "{kind}, and a start");
    }
}

#[test]
fn a_record_is_left_out_of_a_run_only_when_it_went_durably() {
    let mut lost = 0;
    for seed in 0..40 {
        let disk = SimulatedDisk::default();
        let (store, door) = open(&disk);
        let all: Vec<Position> = (1..=100).map(position).collect();
        commit(&door, all.iter().copied().map(insert).collect());
        // Removed behind each sync, one after the other: also between a sync and the fold after it.
        let (interrupted, next) = (door.clone(), AtomicUsize::new(0));
        let targets = all.clone();
        store.observe_syncs(Arc::new(move |_, _| {
            let Some(removed) = targets.get(next.fetch_add(1, Ordering::Relaxed)).copied() else { return };
            let (key, value) = (Bytes::from(removed.seq.to_string()), Some(Bytes::new()));
            let remove = Write::Remove { timeline: TIMELINE, position: removed };
            commit(&interrupted, vec![remove, Write::SetState { key, value }]);
        }));
        while store.figures().folds <= seed % 4 {
            commit(&door, vec![Write::SetState { key: Bytes::from_static(b"k"), value: Some(vec![0; 900].into()) }]);
            store.sync().expect("synced");
        }
        store.observe_syncs(Arc::new(|_, _| ()));
        disk.cut_power();
        drop((store, door));
        disk.crash(seed);
        let (_store, door) = open(&disk);
        let mut removed = Vec::new();
        // What was removed says so in the same batch.
        door.load_state(&mut |key, _| removed.push(key)).expect("shown");
        let is_removed = |position: &Position| removed.contains(&Bytes::from(position.seq.to_string()));
        let left = sorted(all.iter().copied().filter(|position| !is_removed(position)));
        assert_eq!(everything(&door), left, "seed {seed}");
        lost += u64::from(left.len() < all.len());
    }
    assert!(lost > 10, "some were removed: {lost}");
}

#[test]
fn a_full_disk_ends_a_fold_and_not_the_store() {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    let mut seq = 0;
    // Up to where the next sync would fold.
    while store.figures().journal_bytes < 16 << 10 {
        seq += 1;
        commit(&door, vec![insert(position(seq))]);
    }
    let used: usize = disk.list().expect("listed").iter().map(|name| disk.contents(name).expect("there").len()).sum();
    // Room neither for a segment, which would be made ahead, nor for a run.
    disk.set_capacity(used as u64 + 1_000);
    store.sync().expect("the store goes on");
    assert_eq!(store.figures().folds, 0, "{:?}", store.figures());
    assert!(disk.list().expect("listed").iter().all(|name| !name.starts_with("run.")), "nothing is left behind");
    seq += 1;
    commit(&door, vec![insert(position(seq))]);
    disk.set_capacity(u64::MAX);
    fold(&store, &door);
    assert_eq!(everything(&door), sorted((1..=seq).map(position)));
}
