//! Stores under test: in a directory of the system, and on a simulated disk.

use std::sync::Arc;

use punctual_store_api::{Store, testing::Harness};
use punctual_tide::{OpenOptions, Syncing, TideStore, vfs::SimulatedDisk};
use tempfile::TempDir;

pub(crate) const SECRET: [u8; 16] = *b"0123456789abcdef";

/// Small segments and a small memory, so that a few batches fill several, are read from files, and
/// are folded into runs.
pub(crate) fn options(shards: u16, syncing: Syncing) -> OpenOptions {
    OpenOptions {
        segment_bytes: 4 << 10,
        fold_bytes: 12 << 10,
        merge_runs: 3,
        recent_bytes_max: 2 << 10,
        free_bytes_min: 0,
        syncing,
        ..OpenOptions::new(shards, SECRET)
    }
}

/// A store in a directory of its own, synced by its thread.
pub(crate) struct OnDirectory {
    // Closed before its directory goes.
    store: Arc<TideStore>,
    directory: TempDir,
    shards: u16,
}

impl OnDirectory {
    fn open(directory: TempDir, shards: u16) -> Self {
        let store = TideStore::open(directory.path(), &options(shards, Syncing::ByThread)).expect("the store opens");
        Self { store, directory, shards }
    }
}

impl Harness for OnDirectory {
    fn create(shards: u16) -> Self {
        // In memory where there is such a place: what is promised here does not hang on the disk,
        // and a few thousand syncs of a busy one take minutes.
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a temporary directory");
        Self::open(directory, shards)
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn reopen(self) -> Self {
        let Self { store, directory, shards } = self;
        store.close().expect("closes");
        drop(store);
        Self::open(directory, shards)
    }
}

/// A store on a simulated disk, synced by hand, whose power goes.
pub(crate) struct OnSimulatedDisk {
    store: Arc<TideStore>,
    disk: SimulatedDisk,
    shards: u16,
}

impl OnSimulatedDisk {
    fn open(disk: SimulatedDisk, shards: u16) -> Self {
        let store = TideStore::open_on(Arc::new(disk.clone()), &options(shards, Syncing::ByHand));
        Self { store: store.expect("the store opens"), disk, shards }
    }
}

impl Harness for OnSimulatedDisk {
    fn create(shards: u16) -> Self {
        Self::open(SimulatedDisk::default(), shards)
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn reopen(self) -> Self {
        let Self { store, disk, shards } = self;
        store.close().expect("closes");
        drop(store);
        Self::open(disk, shards)
    }

    fn crash(self) -> Result<Self, Self> {
        let Self { store, disk, shards } = self;
        disk.cut_power();
        drop(store);
        // A seed that differs from crash to crash and is the same in each run.
        disk.crash(disk.changes());
        Ok(Self::open(disk, shards))
    }

    fn sync(&self) {
        self.store.sync().expect("synced");
    }
}
