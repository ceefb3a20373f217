//! One thread that syncs the journal for all shards, and everyone who waits for it.
//!
//! Commits get their numbers here, in the order of the journal. A sync covers the number that was
//! the highest when it began; whoever waits for that or less is answered when it returns.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fjall::{Database, PersistMode};
use futures_channel::oneshot;
use punctual_store_api::{Durable, Latch, StoreError, SyncObserver};
use punctual_types::{CommitNumber, Position, ShardNumber, Time};

use crate::{keys::Prefix, limits::UNSYNCED_MAX, reclaim::Reclaim};

type Waiter = oneshot::Sender<Result<Durable, StoreError>>;

/// Told what was written, asked for what is durable.
#[derive(Default)]
pub(crate) struct Syncs {
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    written: u64,
    durable: u64,
    waiters: Vec<(u64, Waiter)>,
    /// What may be reclaimed once the commit of this number is durable, oldest first.
    then: VecDeque<(u64, Reclaimable)>,
    observer: Option<SyncObserver>,
    closing: bool,
}

/// What a commit lets be reclaimed, once it is durable.
pub(crate) struct Reclaimable {
    pub(crate) shard: ShardNumber,
    pub(crate) now: Time,
    pub(crate) floors: Vec<(Prefix, Position)>,
}

impl Syncs {
    /// A commit has been written: gives it its number. The caller holds the lock under which
    /// commits are written, so that numbers rise in the order of the journal.
    pub(crate) fn written(&self, reclaimable: Reclaimable) -> CommitNumber {
        let mut state = self.lock();
        state.written += 1;
        let number = state.written;
        state.then.push_back((number, reclaimable));
        CommitNumber(number)
    }

    /// Ready when the commit is durable.
    pub(crate) fn wait(&self, commit: CommitNumber, latch: &Latch) -> Waiting {
        let mut state = self.lock();
        // Under the lock: a failure is told to those who wait, and nobody may come after that.
        if let Some(error) = latch.get() {
            return Waiting::Over(Err(error));
        }
        assert!(commit.0 <= state.written, "commit {commit} was not written by this store");
        if commit.0 <= state.durable {
            return Waiting::Over(Ok(Durable::attest(commit)));
        }
        let (waiter, told) = oneshot::channel();
        state.waiters.push((commit.0, waiter));
        self.asked.notify_one();
        Waiting::Told(told)
    }

    /// Tells everyone who waits that it will not come.
    pub(crate) fn fail(&self, error: &StoreError) {
        for (_, waiter) in self.lock().waiters.drain(..) {
            let _ = waiter.send(Err(error.clone()));
        }
    }

    pub(crate) fn observe(&self, observer: SyncObserver) {
        self.lock().observer = Some(observer);
    }

    /// Asks the thread for a last sync, after which it ends.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.asked.notify_one();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// The thread: syncs when somebody asks, and what nobody asks for after a while. Ends after
    /// the first failure, which is final: no sync is tried again.
    #[expect(clippy::disallowed_methods, reason = "measures how long a sync took, for the observer alone")]
    pub(crate) fn run(&self, database: &Database, directory: &str, latch: &Latch, reclaim: &Reclaim) {
        loop {
            let (covered, unsynced, closing) = self.next();
            let begun = Instant::now();
            // Without anything to sync, asking for a flush still tells whether fjall's own
            // threads have failed: an idle broker must learn of that as well.
            let mode = if unsynced == 0 { PersistMode::Buffer } else { PersistMode::SyncData };
            if let Err(error) = database.persist(mode) {
                let error = latch.keep(StoreError::failed("syncing", directory, error));
                self.fail(&error);
                return;
            }
            if unsynced > 0 {
                self.settle(covered, begun.elapsed(), unsynced, latch, reclaim);
            }
            if closing {
                return;
            }
        }
    }

    /// Waits until there is something to do; gives the number to cover, how many commits that
    /// are, and whether it is the last time.
    fn next(&self) -> (u64, u64, bool) {
        let state = self.lock();
        let (state, _) = self
            .asked
            .wait_timeout_while(state, UNSYNCED_MAX, |state| state.waiters.is_empty() && !state.closing)
            .unwrap_or_else(PoisonError::into_inner);
        (state.written, state.written - state.durable, state.closing)
    }

    /// Answers whom a sync covers.
    fn settle(&self, covered: u64, took: Duration, commits: u64, latch: &Latch, reclaim: &Reclaim) {
        let mut state = self.lock();
        if latch.get().is_some() {
            return;
        }
        state.durable = covered;
        while state.then.front().is_some_and(|(number, _)| *number <= covered) {
            let Some((_, reclaimable)) = state.then.pop_front() else { break };
            for (prefix, floor) in reclaimable.floors {
                reclaim.raise(prefix, floor);
            }
            reclaim.reach(reclaimable.shard, reclaimable.now);
        }
        let answered: Vec<_> = state.waiters.extract_if(.., |(commit, _)| *commit <= covered).collect();
        let observer = state.observer.clone();
        drop(state);
        if let Some(observer) = observer {
            observer(took, commits);
        }
        for (commit, waiter) in answered {
            // A waiter that is gone no longer wants to know.
            let _ = waiter.send(Ok(Durable::attest(CommitNumber(commit))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a wait, or how it will come.
pub(crate) enum Waiting {
    Over(Result<Durable, StoreError>),
    Told(oneshot::Receiver<Result<Durable, StoreError>>),
}

#[cfg(test)]
mod tests {
    use punctual_types::{PartitionNumber, Seq, TimelineId, TopicNumber};

    use super::*;
    use crate::keys;

    #[test]
    fn a_floor_is_reclaimable_only_after_the_sync_that_covers_it() {
        let (syncs, latch, reclaim) = (Syncs::default(), Latch::default(), Reclaim::default());
        let prefix = keys::prefix(ShardNumber(0), TimelineId::main(TopicNumber(1), PartitionNumber(0)));
        let floor = |seq| Position::new(Time::ZERO, Seq(seq));
        for seq in 1..=3 {
            let number = syncs.written(Reclaimable {
                shard: ShardNumber(0),
                now: Time::ZERO,
                floors: vec![(prefix, floor(seq))],
            });
            assert_eq!(number.0, seq);
        }
        assert_eq!(reclaim.floor(&prefix), None, "written is not durable");
        syncs.settle(2, Duration::ZERO, 2, &latch, &reclaim);
        assert_eq!(reclaim.floor(&prefix), Some(floor(2)), "the third was not covered");
        syncs.settle(3, Duration::ZERO, 1, &latch, &reclaim);
        assert_eq!(reclaim.floor(&prefix), Some(floor(3)));
    }

    #[test]
    fn a_sync_answers_those_it_covers_and_nobody_after_a_failure() {
        let (syncs, latch, reclaim) = (Syncs::default(), Latch::default(), Reclaim::default());
        let prefix = keys::prefix(ShardNumber(0), TimelineId::main(TopicNumber(1), PartitionNumber(0)));
        let mut waiting = Vec::new();
        for seq in 1..=3 {
            let floors = vec![(prefix, Position::new(Time::ZERO, Seq(seq)))];
            let number = syncs.written(Reclaimable { shard: ShardNumber(0), now: Time::ZERO, floors });
            let Waiting::Told(told) = syncs.wait(number, &latch) else { panic!("not synced yet") };
            waiting.push(told);
        }
        syncs.settle(2, Duration::ZERO, 2, &latch, &reclaim);
        let mut answers = waiting.into_iter().map(|mut told| told.try_recv().expect("not gone"));
        assert_eq!(answers.next().expect("one").expect("answered").expect("durable").commit(), CommitNumber(1));
        assert_eq!(answers.next().expect("two").expect("answered").expect("durable").commit(), CommitNumber(2));
        assert!(answers.next().expect("three").is_none(), "written after the sync began");

        syncs.fail(&latch.keep(StoreError::corrupt("a test", "failed")));
        // A sync that was under way when the failure came must count for nothing any more.
        syncs.settle(3, Duration::ZERO, 1, &latch, &reclaim);
        assert_eq!(reclaim.floor(&prefix), Some(Position::new(Time::ZERO, Seq(2))));
        for commit in [1, 3] {
            assert!(matches!(syncs.wait(CommitNumber(commit), &latch), Waiting::Over(Err(_))), "commit {commit}");
        }
    }
}
