//! The store and what its shards share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_store_api::{ShardStore, Store, StoreError, StoreUsage, SyncObserver};
use punctual_types::{Batch, CommitNumber, ShardNumber};

use crate::{kept::Kept, log::Log, shard::MemoryShard};

/// A store in memory. Clones share what is kept.
#[derive(Clone)]
pub struct MemoryStore(Arc<Shared>);

/// When commits become durable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// As soon as they are written.
    AtOnce,
    /// When the test says so.
    Manual,
}

/// What the doors to the shards share. Locks are taken in the order shard, log.
pub(crate) struct Shared {
    secret: [u8; 16],
    mode: Mode,
    shards: Vec<Mutex<Images>>,
    log: Mutex<Log>,
}

/// A shard as reads see it, and as a crash would leave it.
#[derive(Default)]
pub(crate) struct Images {
    pub(crate) written: Kept,
    /// Manual mode only; otherwise what is written is durable.
    durable: Kept,
}

impl MemoryStore {
    /// A new store in which every commit is durable at once.
    #[must_use]
    pub fn new(shards: u16, secret: [u8; 16]) -> Self {
        Self::with(secret, Mode::AtOnce, (0..shards).map(|_| Kept::default()))
    }

    /// A new store in which commits become durable when [`Self::sync`] is called.
    #[must_use]
    pub fn manual_sync(shards: u16, secret: [u8; 16]) -> Self {
        Self::with(secret, Mode::Manual, (0..shards).map(|_| Kept::default()))
    }

    /// Makes everything written durable and wakes who waits for it.
    pub fn sync(&self) {
        // All shards are held while the log is emptied, so that no commit slips in between and
        // the images get their batches in the order of the log.
        let mut shards: Vec<_> = self.0.shards.iter().map(|shard| lock(shard)).collect();
        for (shard, batch) in lock(&self.0.log).sync() {
            shards[usize::from(shard.0)].durable.apply(batch);
        }
    }

    /// What a crash now would leave: a store of the same mode with exactly what is durable.
    #[must_use]
    pub fn crash(&self) -> Self {
        self.crash_keeping(0)
    }

    /// What a crash now could leave: what is durable and the first `undurable` commits after it,
    /// in the order of all shards together. Any prefix may survive a crash.
    #[must_use]
    pub fn crash_keeping(&self, undurable: usize) -> Self {
        let shards: Vec<_> = self.0.shards.iter().map(|shard| lock(shard)).collect();
        let mut left: Vec<Kept> = shards
            .iter()
            .map(|images| match self.0.mode {
                Mode::AtOnce => images.written.clone(),
                Mode::Manual => images.durable.clone(),
            })
            .collect();
        for (shard, batch) in lock(&self.0.log).pending().take(undurable) {
            left[usize::from(shard.0)].apply(batch.clone());
        }
        Self::with(self.0.secret, self.0.mode, left.into_iter())
    }

    fn with(secret: [u8; 16], mode: Mode, shards: impl Iterator<Item = Kept>) -> Self {
        let shards = shards.map(|kept| {
            let durable = match mode {
                Mode::AtOnce => Kept::default(),
                Mode::Manual => kept.clone(),
            };
            Mutex::new(Images { written: kept, durable })
        });
        Self(Arc::new(Shared { secret, mode, shards: shards.collect(), log: Mutex::default() }))
    }
}

impl Store for MemoryStore {
    fn shards(&self) -> u16 {
        u16::try_from(self.0.shards.len()).expect("made from a u16")
    }

    fn secret(&self) -> [u8; 16] {
        self.0.secret
    }

    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError> {
        assert!(shard.0 < self.shards(), "shard {shard} of {}", self.shards());
        Ok(Arc::new(MemoryShard { shared: self.0.clone(), number: shard }))
    }

    fn failure(&self) -> Option<StoreError> {
        None
    }

    fn usage(&self) -> StoreUsage {
        let memory_bytes = self.0.shards.iter().map(|shard| lock(shard).written.bytes()).sum();
        StoreUsage { disk_bytes: 0, free_bytes: u64::MAX, memory_bytes }
    }

    fn observe_syncs(&self, observer: SyncObserver) {
        lock(&self.0.log).observer = Some(observer);
    }

    fn close(&self) -> Result<(), StoreError> {
        self.sync();
        Ok(())
    }
}

impl Shared {
    pub(crate) fn commit(&self, shard: ShardNumber, batch: Batch) -> CommitNumber {
        let mut images = self.shard(shard);
        let mut log = self.log();
        let commit = log.append();
        match self.mode {
            Mode::AtOnce => {
                log.sync();
            }
            Mode::Manual => log.hold(shard, batch.clone()),
        }
        drop(log);
        images.written.apply(batch);
        commit
    }

    pub(crate) fn shard(&self, shard: ShardNumber) -> MutexGuard<'_, Images> {
        lock(&self.shards[usize::from(shard.0)])
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }
}

/// A lock that a panic of another test thread does not take away.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
