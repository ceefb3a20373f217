//! The store: what its shards share, and the thread behind it.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{Builder, JoinHandle},
};

use bytes::Bytes;
use punctual_store_api::{Latch, ShardStore, Store, StoreError, StoreUsage, SyncObserver};
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{
    OpenOptions, Syncing, batch,
    fold::{self, manifest::Manifest},
    home::{self, Home},
    journal::{Draft, Journal, Recovery, SegmentNumber, Sizes},
    kept::{Kept, Place},
    limits,
    limits::FOLD_LOOK,
    run::Run,
    shard::TideShard,
    syncer::Syncer,
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

/// What the shards and the threads share.
pub(crate) struct Shared {
    pub(crate) journal: Journal,
    pub(crate) latch: Latch,
    pub(crate) syncer: Syncer,
    pub(crate) vfs: Arc<dyn Vfs>,
    /// What counts on the disk.
    manifest: Mutex<Manifest>,
    /// Held by whoever folds.
    pub(crate) folding: Mutex<()>,
    /// How often all shards were told to look into runs for what lay in segments that go then.
    pub(crate) adopted: AtomicU64,
    pub(crate) fold_bytes: u64,
    pub(crate) merge_runs: usize,
    home: Home,
    report: Report,
    shards: Vec<Shard>,
    /// Whether the search for something to fold is to end.
    folding_over: Mutex<bool>,
    folding_ends: Condvar,
}

/// One shard. Locks are taken in the order folding, writing, journal, kept; the manifest's alone.
pub(crate) struct Shard {
    /// Held from the journal to the memory, so that both have the same order.
    writing: Mutex<()>,
    kept: Mutex<Kept>,
    memory_bytes: AtomicU64,
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
        let home = Home::open(&vfs, options)?;
        let sizes = Sizes { segment_bytes: options.segment_bytes, recent_bytes_max: options.recent_bytes_max };
        // The manifest's name may not be durable yet, and what follows removes what it replaced.
        vfs.sync_directory().map_err(|error| StoreError::failed("syncing", vfs.shown(), error))?;
        let manifest = Manifest::read(&*vfs)?;
        let runs = fold::open_runs(&*vfs, &manifest)?;
        let (shards, secret) = (home.format().shards, home.format().secret);
        let mut shards: Vec<Kept> = (0..shards).map(|shard| Kept::new(ShardNumber(shard), runs.clone())).collect();
        if manifest.folds > 0 {
            fold::checkpoint::load(&*vfs, secret, manifest.folds, &mut shards)?;
        }
        let recovery =
            Recovery::open(&vfs, secret, sizes, manifest.start, &mut |found| fold::apply(&mut shards, &found))?;
        fold::remove_strays(&*vfs, &manifest)?;
        home.adopt()?;
        let shared = Arc::new(Shared {
            journal: recovery.journal,
            latch: Latch::default(),
            syncer: Syncer::default(),
            vfs,
            manifest: Mutex::new(manifest),
            folding: Mutex::default(),
            adopted: AtomicU64::new(0),
            fold_bytes: options.fold_bytes,
            merge_runs: options.merge_runs.max(2),
            home,
            report: Report { batches: recovery.batches, torn: recovery.torn },
            shards: shards.into_iter().map(Shard::of).collect(),
            folding_over: Mutex::default(),
            folding_ends: Condvar::new(),
        });
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

impl Shared {
    /// Whether anything may still be answered.
    fn check(&self) -> Result<(), StoreError> {
        self.latch.check()?;
        if self.syncer.is_closing() {
            let closed = io::Error::other("the store is closed");
            return Err(StoreError::failed("using", self.vfs.shown(), closed));
        }
        Ok(())
    }

    /// The thread that folds what is due now and then.
    fn fold_until_over(&self) {
        loop {
            let over = self.folding_over.lock().unwrap_or_else(PoisonError::into_inner);
            let (over, _) = self
                .folding_ends
                .wait_timeout_while(over, FOLD_LOOK, |over| !*over)
                .unwrap_or_else(PoisonError::into_inner);
            let is_over = *over;
            drop(over);
            if is_over || self.fold_or_fail().is_err() {
                return;
            }
        }
    }

    fn fold_or_fail(&self) -> Result<(), StoreError> {
        self.latch.check()?;
        let done = self.fold_if_due().and_then(|()| self.merge_if_due());
        done.map_err(|error| self.syncer.fail(error, &self.latch))
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.latch.check()?;
        self.syncer.round(&self.journal).map_err(|error| self.syncer.fail(error, &self.latch))
    }

    /// Writes a batch of a shard: it is in the journal, handed to the system, and visible when
    /// this returns.
    pub(crate) fn commit(&self, number: ShardNumber, batch: &Batch) -> Result<CommitNumber, StoreError> {
        let draft = Draft::with(|bytes| batch::encode(batch, bytes));
        if !Draft::may_have(draft.payload().len()) {
            let detail = format!("it has {} bytes, at most {}", draft.payload().len(), limits::JOURNAL_BATCH_BYTES_MAX);
            return Err(StoreError::failed("writing a batch to", self.vfs.shown(), io::Error::other(detail)));
        }
        let shard = self.shard(number);
        let writing = shard.writing();
        self.check()?;
        let appended = self.journal.append(number, draft).map_err(|error| self.syncer.fail(error, &self.latch))?;
        let place = Place { segment: appended.location.segment, at: appended.location.at };
        let mut kept = shard.kept();
        kept.apply(&appended.payload, place).expect("what was just encoded is a batch");
        shard.memory_bytes.store(kept.bytes(), Ordering::Relaxed);
        drop((kept, writing));
        Ok(appended.commit)
    }

    pub(crate) fn read(&self, number: ShardNumber, reads: &[Read]) -> Result<Vec<ReadReply>, StoreError> {
        loop {
            self.check()?;
            let adopted = self.adopted.load(Ordering::Acquire);
            // Where records lie is asked under the lock, so that all answers are of one moment; their
            // bytes are read after it.
            let mut kept = self.shard(number).kept();
            let answers: Vec<_> = reads.iter().map(|read| kept.read(*read)).collect();
            drop(kept);
            let replies: Option<Vec<ReadReply>> = answers
                .into_iter()
                .map(|answer| answer.finish(&self.journal).transpose())
                .collect::<Option<_>>()
                .transpose()?;
            if let Some(replies) = replies {
                return Ok(replies);
            }
            // What one of them rested on was folded meanwhile: now it is in a run. A segment goes only
            // after every shard has been told, so that this ends.
            if self.adopted.load(Ordering::Acquire) == adopted {
                return Err(StoreError::corrupt(
                    self.vfs.shown(),
                    "a record lies in a segment of the journal that is gone",
                ));
            }
        }
    }

    pub(crate) fn show_state(&self, number: ShardNumber, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.check()?;
        for (key, value) in self.shard(number).kept().state() {
            show(key.clone(), value.clone());
        }
        Ok(())
    }

    pub(crate) fn manifest(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn secret(&self) -> [u8; 16] {
        self.home.format().secret
    }

    /// The numbers of the shards.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = ShardNumber> + use<> {
        (0..self.home.format().shards).map(ShardNumber)
    }

    pub(crate) fn shard(&self, number: ShardNumber) -> &Shard {
        self.shards.get(usize::from(number.0)).expect("the store checks the number when it gives a door out")
    }
}

impl Shard {
    fn of(kept: Kept) -> Self {
        let memory_bytes = AtomicU64::new(kept.bytes());
        Self { writing: Mutex::default(), kept: Mutex::new(kept), memory_bytes }
    }

    /// From now on notes what is removed, or no longer. Waits for a commit that is on its way from the
    /// journal to the memory: its records would be in neither the run nor the memory.
    pub(crate) fn set_folding(&self, is_folding: bool) {
        let _writing = self.writing();
        self.kept().set_folding(is_folding);
    }

    /// From now on looks into runs for what lay in the journal up to a segment.
    pub(crate) fn adopt(&self, folded: SegmentNumber, runs: &Arc<[Arc<Run>]>) {
        let mut kept = self.kept();
        kept.adopt(folded, runs.clone());
        self.memory_bytes.store(kept.bytes(), Ordering::Relaxed);
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
