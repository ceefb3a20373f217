//! The store: what its shards share, and the thread behind it.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{Builder, JoinHandle},
};

use bytes::Bytes;
use punctual_store_api::{Latch, ShardStore, Store, StoreError, StoreUsage, SyncObserver};
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{
    OpenOptions, Syncing, batch,
    home::{self, Home},
    journal::{Draft, Journal, Recovery, Sizes},
    kept::{Kept, Place},
    limits,
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

/// What the shards and the thread share.
pub(crate) struct Shared {
    pub(crate) journal: Journal,
    pub(crate) latch: Latch,
    pub(crate) syncer: Syncer,
    vfs: Arc<dyn Vfs>,
    home: Home,
    report: Report,
    shards: Vec<Shard>,
}

/// One shard. Locks are taken in the order writing, journal, kept.
#[derive(Default)]
struct Shard {
    /// Held from the journal to the memory, so that both have the same order.
    writing: Mutex<()>,
    kept: Mutex<Kept>,
    memory_bytes: AtomicU64,
}

/// A store with its thread, which ends when the last door to it is gone.
pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
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
        let mut shards: Vec<Kept> = (0..home.format().shards).map(|_| Kept::default()).collect();
        let recovery = Recovery::open(&vfs, home.format().secret, sizes, &mut |found| {
            let what = || found.location.segment.file_name();
            let Some(kept) = shards.get_mut(usize::from(found.shard.0)) else {
                return Err(StoreError::corrupt(what(), format!("it has a batch of shard {}", found.shard)));
            };
            let place = Place { segment: found.location.segment, at: found.location.at };
            kept.apply(found.payload, place).map_err(|none| {
                let at = u64::from(found.location.at) + none.at as u64;
                StoreError::corrupt(what(), format!("the batch step at byte {at} is none"))
            })
        })?;
        home.adopt()?;
        let shared = Arc::new(Shared {
            journal: recovery.journal,
            latch: Latch::default(),
            syncer: Syncer::default(),
            vfs,
            home,
            report: Report { batches: recovery.batches, torn: recovery.torn },
            shards: shards.into_iter().map(Shard::of).collect(),
        });
        let running = Arc::new(Running { shared, thread: Mutex::default() });
        match options.syncing {
            Syncing::ByThread => running.start()?,
            Syncing::ByHand => {}
        }
        Ok(Arc::new(Self(running)))
    }

    /// What opening found.
    #[must_use]
    pub fn report(&self) -> Report {
        self.0.shared.report.clone()
    }

    /// Does what the thread does when it is asked, for a store that is synced by hand.
    ///
    /// # Errors
    /// When the sync fails. Final, as always.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.0.shared.sync()
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
        let kept: u64 = shared.shards.iter().map(|shard| shard.memory_bytes.load(Ordering::Relaxed)).sum();
        StoreUsage {
            disk_bytes: shared.journal.disk_bytes(),
            free_bytes: shared.vfs.free_bytes().unwrap_or(0),
            memory_bytes: kept + shared.journal.recent_bytes() as u64,
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
    fn start(&self) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        let thread = Builder::new()
            .name("punctual-sync".to_owned())
            .spawn(move || shared.syncer.run(&shared.journal, &shared.latch))
            .map_err(|error| StoreError::failed("starting a thread for", self.shared.vfs.shown(), error))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// A last sync, then the thread ends.
    fn stop(&self) {
        let shared = &self.shared;
        if shared.syncer.is_closing() {
            return;
        }
        // Whoever is writing finishes first; whoever comes after is refused.
        let writing: Vec<_> = shared.shards.iter().map(Shard::writing).collect();
        shared.syncer.close();
        drop(writing);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
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

    fn sync(&self) -> Result<(), StoreError> {
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

    pub(crate) fn read(&self, number: ShardNumber, reads: Vec<Read>) -> Result<Vec<ReadReply>, StoreError> {
        self.check()?;
        // Where records lie is asked under the lock, so that all answers are of one moment; their
        // bytes are read after it.
        let mut kept = self.shard(number).kept();
        let answers: Vec<_> = reads.into_iter().map(|read| kept.read(read)).collect();
        drop(kept);
        answers.into_iter().map(|answer| answer.reply(|location| self.journal.record(location))).collect()
    }

    pub(crate) fn show_state(&self, number: ShardNumber, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.check()?;
        for (key, value) in self.shard(number).kept().state() {
            show(key.clone(), value.clone());
        }
        Ok(())
    }

    fn shard(&self, number: ShardNumber) -> &Shard {
        self.shards.get(usize::from(number.0)).expect("the store checks the number when it gives a door out")
    }
}

impl Shard {
    fn of(kept: Kept) -> Self {
        let memory_bytes = AtomicU64::new(kept.bytes());
        Self { writing: Mutex::default(), kept: Mutex::new(kept), memory_bytes }
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
