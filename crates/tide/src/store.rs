//! The store: how it is opened and closed, and the threads behind it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread::{Builder, JoinHandle},
};

use punctual_store_api::{ShardStore, Store, StoreError, StoreUsage, SyncObserver};
use punctual_types::ShardNumber;

use crate::{
    OpenOptions, Syncing, home,
    shard::TideShard,
    shared::{Shard, Shared},
    vfs::{Directory, Vfs},
};

/// A store on a journal and a wheel.
pub struct TideStore(pub(crate) Arc<Running>);

/// What opening a store found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Batches that were found whole and done again.
    pub batches: u64,
    /// File and byte where the journal was torn by a crash, if it was. What lay behind had never
    /// been durable, and was cut off.
    pub torn: Option<(String, u64)>,
}

/// What a store has on the disk and how it came there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How often the oldest of the journal was folded, since the directory was made.
    pub folds: u64,
    /// How often runs were merged, since the directory was made.
    pub merges: u64,
    /// Runs that count.
    pub runs: u64,
    /// Bytes of those runs.
    pub run_bytes: u64,
    /// Bytes of the journal's segments, used or reserved.
    pub journal_bytes: u64,
}

/// A store with its threads, which end when the last door to it is gone.
pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl TideStore {
    /// Opens a data directory, and makes it when it is new or empty.
    ///
    /// # Errors
    /// `Unusable` when the directory cannot be used as it is, `Corrupt` when what it holds is not
    /// what was written, `Failed` when a sync of what was found fails.
    ///
    /// # Panics
    /// When a new directory is asked for with no shards or more than `SHARDS_MAX`.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Arc<Self>, StoreError> {
        let path = path.as_ref();
        let directory =
            Directory::open(path).map_err(|error| home::unusable(&path.display().to_string(), "making it", &error))?;
        Self::open_on(Arc::new(directory), options)
    }

    /// Opens a data directory on files of any kind.
    ///
    /// # Errors
    /// As [`Self::open`].
    ///
    /// # Panics
    /// As [`Self::open`].
    pub fn open_on(vfs: Arc<dyn Vfs>, options: &OpenOptions) -> Result<Arc<Self>, StoreError> {
        let shared = Arc::new(Shared::open(vfs, options)?);
        let running = Arc::new(Running { shared, threads: Mutex::default() });
        match options.syncing {
            Syncing::ByThread => {
                running.start("punctual-sync", |shared| shared.syncer.run(&shared.journal, &shared.latch))?;
                running.start("punctual-fold", Shared::fold_until_over)?;
            }
            Syncing::ByHand => {}
        }
        Ok(Arc::new(Self(running)))
    }

    /// What opening found.
    #[must_use]
    pub fn report(&self) -> Report {
        self.0.shared.report.clone()
    }

    /// What the store has on the disk.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let shared = &self.0.shared;
        let manifest = shared.manifest();
        Figures {
            folds: u64::from(manifest.folds),
            merges: u64::from(manifest.merges),
            runs: manifest.runs.len() as u64,
            run_bytes: manifest.runs.iter().map(|(_, bytes)| bytes).sum(),
            journal_bytes: shared.journal.disk_bytes(),
        }
    }

    /// Does what the threads do, for a store that is synced by hand: a sync, and a fold if one is due.
    ///
    /// # Errors
    /// When either fails. Final, as always.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.0.shared.sync()?;
        self.0.shared.fold_or_fail()
    }
}

impl Store for TideStore {
    fn shards(&self) -> u16 {
        self.0.shared.home.format().shards
    }

    fn secret(&self) -> [u8; 16] {
        self.0.shared.home.format().secret
    }

    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError> {
        assert!(shard.0 < self.shards(), "shard {shard} of {}", self.shards());
        Ok(Arc::new(TideShard { running: self.0.clone(), number: shard }))
    }

    fn failure(&self) -> Option<StoreError> {
        self.0.shared.latch.get()
    }

    fn usage(&self) -> StoreUsage {
        let shared = &self.0.shared;
        let Figures { run_bytes, journal_bytes, .. } = self.figures();
        let kept: u64 = shared.shards.iter().map(|shard| shard.memory_bytes.load(Ordering::Relaxed)).sum();
        let runs: u64 = shared.shards.first().map_or(0, |shard| shard.kept().run_bytes());
        StoreUsage {
            disk_bytes: journal_bytes + run_bytes,
            free_bytes: shared.vfs.free_bytes().unwrap_or(0),
            memory_bytes: kept + runs + shared.journal.recent_bytes() as u64,
        }
    }

    fn observe_syncs(&self, observer: SyncObserver) {
        self.0.shared.syncer.observe(observer);
    }

    fn close(&self) -> Result<(), StoreError> {
        self.0.stop();
        self.0.shared.latch.check()
    }
}

impl Running {
    fn start(&self, name: &str, run: impl FnOnce(&Shared) + Send + 'static) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        let thread = Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&shared))
            .map_err(|error| StoreError::failed("starting a thread for", self.shared.vfs.shown(), error))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// A last sync, then the threads end.
    fn stop(&self) {
        let shared = &self.shared;
        if shared.syncer.is_closing() {
            return;
        }
        // Whoever is writing finishes first; whoever comes after is refused.
        let writing: Vec<_> = shared.shards.iter().map(Shard::writing).collect();
        shared.syncer.close();
        drop(writing);
        *shared.folding_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        shared.folding_ends.notify_one();
        for thread in std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            // A thread that panicked has nothing more to say; its work shows in the latch.
            let _ = thread.join();
        }
        // The thread's last sync, or the only one of a store without; and then how far it reached,
        // so that the next start can tell damage from a torn tail.
        for _ in 0..2 {
            let _ = shared.sync();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
