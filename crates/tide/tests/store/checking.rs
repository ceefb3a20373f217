//! Checking a directory finds any damage and changes nothing.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    desk::{commit, fold, insert, open, position},
    on_disk::options,
};
use punctual_store_api::{StoreError, Unusable};
use punctual_tide::{
    Checked, Syncing, TideStore, check, check_on,
    vfs::{SimulatedDisk, Vfs},
};

/// A disk with runs, a checkpoint and a journal that says how far it is durable.
fn filled() -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    let (store, door) = open(&disk);
    commit(&door, (1..=40).map(|seq| insert(position(seq))).collect());
    fold(&store, &door);
    commit(&door, (41..=50).map(|seq| insert(position(seq))).collect());
    drop((store, door));
    disk
}

fn files(disk: &SimulatedDisk) -> BTreeMap<String, Vec<u8>> {
    let names = disk.list().expect("listed");
    names.into_iter().map(|name| (name.clone(), disk.contents(&name).expect("there"))).collect()
}

#[test]
fn a_check_tells_what_a_start_would_find_and_changes_nothing() {
    let disk = filled();
    let before = files(&disk);
    let checked = check_on(Arc::new(disk.clone())).expect("in order");
    assert_eq!(files(&disk), before);
    assert_eq!((checked.runs, checked.records, checked.torn), (1, 40, None));
    let store = TideStore::open_on(Arc::new(disk.clone()), &options(1, Syncing::ByHand)).expect("opens");
    assert_eq!(store.report().batches, checked.batches);
    let refused = check_on(Arc::new(disk)).expect_err("in use");
    assert!(matches!(refused, StoreError::Unusable { reason: Unusable::Locked, .. }), "{refused}");
}

#[test]
fn a_check_finds_a_flipped_bit_in_every_file_that_counts() {
    let disk = filled();
    let right = check_on(Arc::new(disk.clone())).expect("in order");
    for (name, bytes) in files(&disk) {
        // Every 61st bit reaches every bit of a byte and every part of a file.
        for bit in (0..bytes.len() as u64 * 8).step_by(61) {
            disk.flip(&name, bit);
            match check_on(Arc::new(disk.clone())) {
                Err(StoreError::Corrupt { .. } | StoreError::Unusable { .. }) => {}
                Err(other) => panic!("{name}, bit {bit}: {other}"),
                // Unused bytes: padding, what a segment has reserved, and the last mark.
                Ok(checked) => assert!(
                    name.starts_with("journal.") && checked.batches == right.batches
                        || name.starts_with("checkpoint.") && checked == right,
                    "{name}, bit {bit}: {checked:?}"
                ),
            }
            disk.flip(&name, bit);
        }
    }
}

#[test]
fn what_is_no_data_directory_is_refused_and_not_made_one() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for path in [directory.path().to_owned(), directory.path().join("nowhere")] {
        check(&path).expect_err("refused");
    }
    assert_eq!(directory.path().read_dir().expect("listed").count(), 0);
    drop(TideStore::open(directory.path(), &options(1, Syncing::ByThread)).expect("made"));
    assert_eq!(check(directory.path()).expect("in order"), Checked::default());
}

#[test]
fn a_journal_that_is_gone_behind_a_fold_is_refused() {
    let disk = filled();
    // Something is left, so that the directory does not look as if it had no journal at all.
    for name in disk.list().expect("listed").iter().filter(|name| name.starts_with("journal.")) {
        disk.remove(name).expect("removed");
    }
    disk.replace("journal.00000001", vec![0; 100]);
    let refused = check_on(Arc::new(disk)).expect_err("refused");
    assert!(refused.to_string().contains("goes on from"), "{refused}");
}
