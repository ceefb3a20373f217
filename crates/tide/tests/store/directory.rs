//! What a data directory must look like, and what becomes of one whose making was cut off.

use std::sync::Arc;

use crate::on_disk::{SECRET, options};
use punctual_store_api::{Store, StoreError, Unusable, testing::wait};
use punctual_tide::{
    OpenOptions, Report, Syncing, TideStore, limits,
    vfs::{Fault, SimulatedDisk, Vfs},
};
use punctual_types::{Batch, ShardNumber};

fn open(disk: &SimulatedDisk) -> Result<Arc<TideStore>, StoreError> {
    TideStore::open_on(Arc::new(disk.clone()), &options(2, Syncing::ByHand))
}

fn refusal(disk: &SimulatedDisk) -> Unusable {
    match open(disk).err().expect("refused") {
        StoreError::Unusable { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_directory_keeps_its_shards_and_its_secret() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("to/be/made");
    let store = TideStore::open(&path, &options(2, Syncing::ByThread)).expect("made");
    drop(store);
    let other = OpenOptions { shards_if_new: 5, secret_if_new: [9; 16], ..options(5, Syncing::ByThread) };
    let store = TideStore::open(&path, &other).expect("opens");
    assert_eq!((store.shards(), store.secret()), (2, SECRET));
    assert_eq!(store.report(), Report::default());
}

#[test]
fn a_directory_in_use_is_refused_until_it_is_let_go() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = options(2, Syncing::ByThread);
    let store = TideStore::open(directory.path(), &options).expect("made");
    let refused = TideStore::open(directory.path(), &options).err().expect("refused");
    assert!(matches!(refused, StoreError::Unusable { reason: Unusable::Locked, .. }), "{refused}");
    let shard = store.shard(ShardNumber(0)).expect("a shard");
    drop(store);
    TideStore::open(directory.path(), &options).err().expect("a door to a shard keeps it in use");
    drop(shard);
    TideStore::open(directory.path(), &options).expect("opens");
}

#[test]
fn something_elses_directory_is_refused_and_left_alone() {
    for name in ["notes.txt", "punctual.format.new", "journal.00000001"] {
        let disk = SimulatedDisk::default();
        disk.replace(name, b"precious".to_vec());
        assert_eq!(refusal(&disk), Unusable::Format, "{name}");
        assert_eq!(disk.contents(name).as_deref(), Some(&b"precious"[..]));
    }
}

#[test]
fn a_directory_that_lost_its_journal_or_its_format_file_is_refused() {
    let disk = SimulatedDisk::default();
    drop(open(&disk).expect("made"));
    let format = disk.contents("punctual.format").expect("there");
    disk.remove("punctual.format").expect("removed");
    assert_eq!(refusal(&disk), Unusable::Format);
    disk.replace("punctual.format", format);
    for name in disk.list().expect("listed").iter().filter(|name| name.starts_with("journal.")) {
        disk.remove(name).expect("removed");
    }
    let refused = open(&disk).err().expect("refused");
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
}

#[test]
fn a_format_file_of_another_store_or_beyond_its_bound_is_refused() {
    let disk = SimulatedDisk::default();
    drop(open(&disk).expect("made"));
    let format = punctual_store_api::DirectoryFormat { shards: 2, secret: SECRET };
    disk.replace("punctual.format", format.to_text("fjall").into_bytes());
    assert_eq!(refusal(&disk), Unusable::Format);
    disk.replace("punctual.format", vec![b' '; limits::FORMAT_FILE_BYTES_MAX as usize + 1]);
    assert_eq!(refusal(&disk), Unusable::Access);
    disk.replace("punctual.format", vec![b' '; limits::FORMAT_FILE_BYTES_MAX as usize]);
    assert!(matches!(open(&disk).err().expect("refused"), StoreError::Corrupt { .. }));
    disk.replace("punctual.format", format.to_text("tide").into_bytes());
    open(&disk).expect("opens");
}

#[test]
fn a_disk_without_room_to_start_is_refused() {
    assert_eq!(OpenOptions::new(2, SECRET).free_bytes_min, limits::START_FREE_BYTES_MIN);
    let options = OpenOptions { free_bytes_min: 50_000, ..options(2, Syncing::ByHand) };
    for (capacity, is_enough) in [(49_999, false), (50_000, true)] {
        let disk = SimulatedDisk::default();
        disk.set_capacity(capacity);
        let opened = TideStore::open_on(Arc::new(disk.clone()), &options);
        assert_eq!(opened.is_ok(), is_enough, "{capacity} bytes");
        if let Err(StoreError::Unusable { reason, .. }) = opened {
            assert_eq!((reason, disk.list().expect("listed").len()), (Unusable::Full, 0), "and nothing was made");
        }
    }
}

#[test]
fn a_making_that_is_cut_off_at_any_change_is_begun_again_or_is_whole() {
    for k in 1.. {
        let mut was_cut_off = false;
        for seed in 0..20 {
            let disk = SimulatedDisk::default();
            disk.plan(Fault::PowerCut(k));
            was_cut_off |= open(&disk).is_err();
            disk.cut_power();
            disk.crash(seed);
            let store = open(&disk).unwrap_or_else(|error| panic!("{k}/{seed}: {error}"));
            let shard = store.shard(ShardNumber(1)).expect("a shard");
            let commit = wait(shard.commit(Batch::default())).expect("written");
            let durable = shard.durable(commit);
            store.sync().expect("synced");
            assert_eq!(wait(durable).expect("durable").commit(), commit);
        }
        if !was_cut_off {
            break;
        }
    }
}

#[test]
fn what_nobody_asks_for_is_synced_all_the_same() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = TideStore::open(directory.path(), &options(1, Syncing::ByThread)).expect("made");
    let (tell, told) = std::sync::mpsc::sync_channel(9);
    store.observe_syncs(Arc::new(move |_, commits| tell.send(commits).expect("heard")));
    let shard = store.shard(ShardNumber(0)).expect("a shard");
    wait(shard.commit(Batch::default())).expect("written");
    // A thousand times as long as it may take, so that a busy machine does not fail it.
    assert_eq!(told.recv_timeout(limits::UNSYNCED_MAX * 1000), Ok(1));
}
