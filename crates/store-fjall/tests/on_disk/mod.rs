//! A fjall store in a directory of its own.

use std::sync::Arc;

use punctual_store_api::{Store, testing::Harness};
use punctual_store_fjall::{FjallStore, OpenOptions};
use tempfile::TempDir;

const SECRET: [u8; 16] = *b"0123456789abcdef";

/// A store in a directory of its own. Dying is tested apart, with a process that is killed.
pub(crate) struct OnDisk {
    // Closed before its directory goes.
    pub(crate) store: Arc<FjallStore>,
    directory: TempDir,
    shards: u16,
}

impl OnDisk {
    fn open(directory: TempDir, shards: u16) -> Self {
        let store = FjallStore::open(directory.path(), &OpenOptions::new(shards, SECRET)).expect("the store opens");
        Self { store, directory, shards }
    }
}

impl Harness for OnDisk {
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
