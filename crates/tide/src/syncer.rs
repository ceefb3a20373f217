//! Syncing for all shards at once, and everyone who waits for it.
//!
//! A sync covers what had been written when it began; whoever waits for that or less is answered
//! when it returns. What is written meanwhile gathers for the next one.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use punctual_store_api::{Durable, Latch, StoreError, SyncObserver};
use punctual_types::CommitNumber;

use crate::{journal::Journal, limits::UNSYNCED_MAX};

type Waiter = oneshot::Sender<Result<Durable, StoreError>>;

/// Who waits for what, and what is asked of the thread.
#[derive(Default)]
pub(crate) struct Syncer {
    /// Held by whoever syncs, with the failure of the first that failed. One that began later must
    /// not return earlier: it would call durable what the earlier one is still about to make so.
    rounds: Mutex<Option<StoreError>>,
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    waiters: Vec<(CommitNumber, Waiter)>,
    observer: Option<SyncObserver>,
    is_closing: bool,
}

/// The answer to a wait, or how it will come.
pub(crate) enum Waiting {
    Over(Result<Durable, StoreError>),
    Told(oneshot::Receiver<Result<Durable, StoreError>>),
}

impl Syncer {
    /// Ready when the commit is durable.
    pub(crate) fn wait(&self, commit: CommitNumber, journal: &Journal, latch: &Latch) -> Waiting {
        let mut state = self.lock();
        // Under the lock: a failure is told to those who wait, and nobody may come after that.
        if let Some(error) = latch.get() {
            return Waiting::Over(Err(error));
        }
        if commit <= journal.durable() {
            return Waiting::Over(Ok(Durable::attest(commit)));
        }
        assert!(commit <= journal.written(), "commit {commit} was not written by this store");
        let (waiter, told) = oneshot::channel();
        state.waiters.push((commit, waiter));
        self.asked.notify_one();
        Waiting::Told(told)
    }

    /// Latches a failure and tells everyone who waits.
    pub(crate) fn fail(&self, error: StoreError, latch: &Latch) -> StoreError {
        let mut state = self.lock();
        let error = latch.keep(error);
        for (_, waiter) in state.waiters.drain(..) {
            // A waiter that is gone no longer wants to know.
            let _ = waiter.send(Err(error.clone()));
        }
        error
    }

    pub(crate) fn observe(&self, observer: SyncObserver) {
        self.lock().observer = Some(observer);
    }

    /// Nothing is written from now on; the thread syncs a last time and ends.
    pub(crate) fn close(&self) {
        self.lock().is_closing = true;
        self.asked.notify_one();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.lock().is_closing
    }

    /// The thread: syncs when somebody asks, and what nobody asks for after a while. It ends after
    /// the first failure, which is final: no sync is tried again.
    pub(crate) fn run(&self, journal: &Journal, latch: &Latch) {
        loop {
            let is_closing = self.next();
            if latch.get().is_some() {
                return;
            }
            if let Err(error) = self.round(journal) {
                self.fail(error, latch);
                return;
            }
            if is_closing {
                return;
            }
        }
    }

    /// One sync, if there is anything to sync, and whom it answers. Otherwise writes down how far
    /// everything is durable, and makes ready for what comes.
    pub(crate) fn round(&self, journal: &Journal) -> Result<(), StoreError> {
        let mut failed = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        let done = self.sync(journal);
        *failed = done.clone().err();
        done
    }

    #[expect(clippy::disallowed_methods, reason = "measures how long a sync took, for the observer alone")]
    fn sync(&self, journal: &Journal) -> Result<(), StoreError> {
        let before = journal.durable();
        if journal.written() > before {
            let begun = Instant::now();
            let covered = journal.sync()?;
            self.settle(covered, begun.elapsed(), covered.0 - before.0);
        } else {
            journal.mark()?;
        }
        journal.prepare()
    }

    /// Waits until there is something to do; whether it is for the last time.
    fn next(&self) -> bool {
        let state = self.lock();
        let (state, _) = self
            .asked
            .wait_timeout_while(state, UNSYNCED_MAX, |state| state.waiters.is_empty() && !state.is_closing)
            .unwrap_or_else(PoisonError::into_inner);
        state.is_closing
    }

    /// Answers whom a sync covers.
    fn settle(&self, covered: CommitNumber, took: Duration, commits: u64) {
        let mut state = self.lock();
        let answered: Vec<_> = state.waiters.extract_if(.., |(commit, _)| *commit <= covered).collect();
        let observer = state.observer.clone();
        drop(state);
        if let Some(observer) = observer {
            observer(took, commits);
        }
        for (commit, waiter) in answered {
            let _ = waiter.send(Ok(Durable::attest(commit)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
