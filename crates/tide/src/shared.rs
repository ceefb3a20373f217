//! What the doors to the shards and the threads share: commits, reads, and who waits for whom.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use punctual_store_api::{Latch, StoreError};
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{
    OpenOptions, Report, batch,
    fold::{self, manifest::Manifest},
    home::Home,
    journal::{Draft, Journal, Recovery, SegmentNumber, Sizes},
    kept::{Kept, Place},
    limits::{FOLD_LOOK, JOURNAL_BATCH_BYTES_MAX},
    run::Run,
    syncer::Syncer,
    vfs::Vfs,
};

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
    pub(crate) home: Home,
    pub(crate) report: Report,
    pub(crate) shards: Vec<Shard>,
    /// Whether the search for something to fold is to end.
    pub(crate) folding_over: Mutex<bool>,
    pub(crate) folding_ends: Condvar,
}

/// One shard. Locks are taken in the order folding, writing, journal, kept; the manifest's alone.
pub(crate) struct Shard {
    /// Held from the journal to the memory, so that both have the same order.
    writing: Mutex<()>,
    kept: Mutex<Kept>,
    pub(crate) memory_bytes: AtomicU64,
}

impl Shared {
    /// Opens what a directory holds, and makes it when it is new or empty.
    pub(crate) fn open(vfs: Arc<dyn Vfs>, options: &OpenOptions) -> Result<Self, StoreError> {
        let home = Home::open(&vfs, options)?;
        let sizes = Sizes { segment_bytes: options.segment_bytes, recent_bytes_max: options.recent_bytes_max };
        let manifest = Manifest::read(&*vfs)?;
        let runs = fold::open_runs(&*vfs, &manifest)?;
        let (shards, secret) = (home.format().shards, home.format().secret);
        let mut shards: Vec<Kept> = (0..shards).map(|shard| Kept::new(ShardNumber(shard), runs.clone())).collect();
        if manifest.folds > 0 {
            fold::checkpoint::load(&*vfs, secret, manifest.folds, &mut shards)?;
        }
        let recovery =
            Recovery::open(&vfs, secret, sizes, manifest.start, &mut |found| fold::apply(&mut shards, &found))?;
        // Its name may not be durable, whatever a sync says by now, and what it replaced goes next.
        if manifest != Manifest::default() {
            manifest.write(&*vfs)?;
        }
        fold::remove_strays(&*vfs, &manifest)?;
        home.adopt()?;
        Ok(Self {
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
        })
    }

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
    pub(crate) fn fold_until_over(&self) {
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

    pub(crate) fn fold_or_fail(&self) -> Result<(), StoreError> {
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
            let detail = format!("it has {} bytes, at most {}", draft.payload().len(), JOURNAL_BATCH_BYTES_MAX);
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

    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
