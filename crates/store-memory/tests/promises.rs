//! The promises of every store, kept by the memory store in both of its modes and through the
//! faulty wrapper.

use std::sync::Arc;

use punctual_store_api::{
    Store,
    testing::{FaultyStore, Harness},
};
use punctual_store_memory::MemoryStore;

const SECRET: [u8; 16] = *b"memory has none ";

/// Commits are durable at once.
struct AtOnce(MemoryStore);

impl Harness for AtOnce {
    fn create(shards: u16) -> Self {
        Self(MemoryStore::new(shards, SECRET))
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn reopen(self) -> Self {
        self.0.close().expect("closes");
        Self(self.0.crash())
    }

    fn crash(self) -> Result<Self, Self> {
        Ok(Self(self.0.crash()))
    }
}

/// Commits are durable when the test syncs; a crash keeps `KEPT` of the others.
struct Manual<const KEPT: usize>(MemoryStore);

impl<const KEPT: usize> Harness for Manual<KEPT> {
    fn create(shards: u16) -> Self {
        Self(MemoryStore::manual_sync(shards, SECRET))
    }

    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn reopen(self) -> Self {
        self.0.close().expect("closes");
        Self(self.0.crash())
    }

    fn crash(self) -> Result<Self, Self> {
        Ok(Self(self.0.crash_keeping(KEPT)))
    }

    fn sync(&self) {
        self.0.sync();
    }
}

/// The wrapper that fails on command, never commanded.
struct Wrapped {
    inner: MemoryStore,
    store: Arc<FaultyStore>,
}

impl Wrapped {
    fn around(inner: MemoryStore) -> Self {
        let (store, _) = FaultyStore::new(Arc::new(inner.clone()));
        Self { inner, store }
    }
}

impl Harness for Wrapped {
    fn create(shards: u16) -> Self {
        Self::around(MemoryStore::new(shards, SECRET))
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn reopen(self) -> Self {
        self.store.close().expect("closes");
        Self::around(self.inner.crash())
    }
}

mod at_once {
    use super::AtOnce;
    punctual_store_api::store_conformance!(AtOnce);
}

mod synced_by_hand {
    use super::Manual;
    punctual_store_api::store_conformance!(Manual<1>);
}

mod wrapped {
    use super::Wrapped;
    punctual_store_api::store_conformance!(Wrapped);
}

#[test]
fn random_histories_agree_with_the_model() {
    let test = "random_histories_agree_with_the_model";
    punctual_store_api::testing::model::random_histories_agree::<AtOnce>("punctual-store-memory", test, 150, 300);
    punctual_store_api::testing::model::random_histories_agree::<Manual<0>>("punctual-store-memory", test, 150, 300);
    punctual_store_api::testing::model::random_histories_agree::<Manual<3>>("punctual-store-memory", test, 150, 300);
}
