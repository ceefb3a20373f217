//! The store: what its shards share, and the threads behind it.

use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{Builder, JoinHandle},
    time::Duration,
};

use fjall::Database;
use punctual_store_api::{Latch, ShardStore, Store, StoreError, StoreUsage, SyncObserver};
use punctual_types::ShardNumber;

use crate::{
    OpenOptions,
    count::{self, CountQueue},
    database::{self, Keyspaces},
    directory::DataDirectory,
    failure,
    floors::Floors,
    keys::{self, Family},
    reclaim::Reclaim,
    shard::FjallShard,
    syncer::Syncs,
};

/// A store on one fjall database.
pub struct FjallStore(pub(crate) Arc<Running>);

/// What the shards and the threads share.
pub(crate) struct Shared {
    // Fields are dropped in this order: the database before the lock of its directory.
    pub(crate) keyspaces: Keyspaces,
    pub(crate) database: Database,
    pub(crate) latch: Latch,
    pub(crate) syncs: Syncs,
    pub(crate) counts: CountQueue,
    pub(crate) directory: DataDirectory,
    reclaim: Arc<Reclaim>,
    floors: Vec<Floors>,
    /// Held while a batch is written and gets its number.
    writing: Mutex<()>,
    /// Whether the search for dead tables is to end.
    reclaiming_over: Mutex<bool>,
    reclaiming_ends: Condvar,
}

/// A store with its threads, which end when the last door to it is gone.
pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl FjallStore {
    /// Opens a data directory, and makes it when it is new or empty.
    ///
    /// # Errors
    /// `Unusable` when the directory cannot be used as it is, `Corrupt` when what it holds is not
    /// what was written, `Failed` when a sync of what was found fails.
    ///
    /// # Panics
    /// When a new directory is asked for with no shards or more than `SHARDS_MAX`.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Arc<Self>, StoreError> {
        let directory = DataDirectory::open(path.as_ref(), options)?;
        let reclaim = Arc::<Reclaim>::default();
        let (database, keyspaces) = database::open(&directory, options, &reclaim)?;
        let floors = load_floors(&directory, &keyspaces, &reclaim)?;
        let (counts, jobs) = count::queue();
        let shared = Arc::new(Shared {
            keyspaces,
            database,
            latch: Latch::default(),
            syncs: Syncs::default(),
            counts,
            directory,
            reclaim,
            floors,
            writing: Mutex::default(),
            reclaiming_over: Mutex::default(),
            reclaiming_ends: Condvar::new(),
        });
        let running = Arc::new(Running { shared: shared.clone(), threads: Mutex::default() });
        running.start("punctual-sync", {
            let shared = shared.clone();
            move || shared.syncs.run(&shared.database, &shared.directory.shown(), &shared.latch, &shared.reclaim)
        })?;
        running.start("punctual-count", {
            let shared = shared.clone();
            move || jobs.run(&shared)
        })?;
        let pause = options.reclaim_every;
        running.start("punctual-reclaim", move || shared.reclaim_until_over(pause))?;
        Ok(Arc::new(Self(running)))
    }
}

impl Store for FjallStore {
    fn shards(&self) -> u16 {
        self.0.shared.directory.format().shards
    }

    fn secret(&self) -> [u8; 16] {
        self.0.shared.directory.format().secret
    }

    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError> {
        assert!(shard.0 < self.shards(), "shard {shard} of {}", self.shards());
        Ok(Arc::new(FjallShard { running: self.0.clone(), number: shard }))
    }

    fn failure(&self) -> Option<StoreError> {
        self.0.shared.latch.get()
    }

    fn usage(&self) -> StoreUsage {
        let shared = &self.0.shared;
        StoreUsage {
            disk_bytes: shared.database.disk_space().unwrap_or(0),
            free_bytes: shared.directory.free_bytes(),
            memory_bytes: shared.database.write_buffer_size() + shared.database.cache_size(),
        }
    }

    fn observe_syncs(&self, observer: SyncObserver) {
        self.0.shared.syncs.observe(observer);
    }

    fn close(&self) -> Result<(), StoreError> {
        self.0.stop();
        self.0.shared.latch.check()
    }
}

impl Running {
    fn start(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let thread = Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|error| StoreError::failed("starting a thread for", self.shared.directory.shown(), error))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// A last sync, then the threads end.
    fn stop(&self) {
        // Whoever is writing finishes first; whoever comes after is refused.
        let writing = self.shared.writing();
        self.shared.syncs.close();
        drop(writing);
        self.shared.counts.close();
        *self.shared.reclaiming_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.reclaiming_ends.notify_one();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A thread that panicked has nothing more to say; its work shows in the latch.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Whether anything may still be answered.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.latch.check()?;
        if self.syncs.is_closing() {
            let closed = io::Error::other("the store is closed");
            return Err(StoreError::failed("using", self.directory.shown(), closed));
        }
        Ok(())
    }

    /// Latches a failure and tells everyone who waits.
    pub(crate) fn fail(&self, error: StoreError) -> StoreError {
        let error = self.latch.keep(error);
        self.syncs.fail(&error);
        error
    }

    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn floors(&self, shard: ShardNumber) -> &Floors {
        &self.floors[usize::from(shard.0)]
    }

    /// The thread that looks for dead tables now and then.
    fn reclaim_until_over(&self, pause: Duration) {
        loop {
            let over = self.reclaiming_over.lock().unwrap_or_else(PoisonError::into_inner);
            let (over, _) = self
                .reclaiming_ends
                .wait_timeout_while(over, pause, |over| !*over)
                .unwrap_or_else(PoisonError::into_inner);
            if *over || self.latch.get().is_some() {
                return;
            }
            drop(over);
            // A failure is latched, and the next round ends this thread.
            let _ = self.reclaim_once();
        }
    }

    /// Drops the tables that are dead; gives in how many timelines there were such.
    pub(crate) fn reclaim_once(&self) -> Result<usize, StoreError> {
        self.reclaim
            .drop_dead_tables(&self.keyspaces)
            .and_then(|dropped| Reclaim::unpin_journals(&self.database, &self.keyspaces).map(|()| dropped))
            .map_err(|error| self.fail(StoreError::failed("reclaiming", self.directory.shown(), error)))
    }
}

/// Reads the floors of all shards, which are durable: what was found was synced before.
fn load_floors(directory: &DataDirectory, keyspaces: &Keyspaces, reclaim: &Reclaim) -> Result<Vec<Floors>, StoreError> {
    (0..directory.format().shards)
        .map(ShardNumber)
        .map(|shard| {
            let floors = Floors::default();
            for guard in keyspaces.state.prefix(keys::family(shard, Family::Floor)) {
                let (key, value) = guard.into_inner().map_err(|error| failure::reading(&directory.shown(), error))?;
                let (Some(timeline), Some(mark)) =
                    (keys::floor::timeline(&key), keys::position::mark_from_bytes(&value))
                else {
                    return Err(StoreError::corrupt(directory.shown(), format!("floor {key:02x?} is none")));
                };
                floors.raise(timeline, mark);
                reclaim.raise(keys::prefix(shard, timeline), mark.position);
            }
            Ok(floors)
        })
        .collect()
}
