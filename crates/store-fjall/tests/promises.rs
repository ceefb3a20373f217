//! The promises of every store, kept by the fjall store.

use std::sync::Arc;

use punctual_store_api::{Store, testing::Harness};
use punctual_store_fjall::{FjallStore, OpenOptions};
use tempfile::TempDir;

const SECRET: [u8; 16] = *b"0123456789abcdef";

/// A store in a directory of its own. Dying is tested apart, with a process that is killed.
struct OnDisk {
    // Closed before its directory goes.
    store: Arc<FjallStore>,
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
        Self::open(TempDir::new().expect("a temporary directory"), shards)
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

punctual_store_api::store_conformance!(OnDisk);

#[test]
fn random_histories_agree_with_the_model() {
    let test = "random_histories_agree_with_the_model";
    punctual_store_api::testing::model::random_histories_agree::<OnDisk>("punctual-store-fjall", test, 60, 300);
}
