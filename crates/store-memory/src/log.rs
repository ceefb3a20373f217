//! What was written and is not yet durable, and who waits for it.

use std::collections::VecDeque;

use futures_channel::oneshot;
use punctual_store_api::{Durable, StoreError, SyncObserver};
use punctual_types::{Batch, CommitNumber, ShardNumber};

type Waiter = oneshot::Sender<Result<Durable, StoreError>>;

/// The commits of all shards in the order in which they were written.
#[derive(Default)]
pub(crate) struct Log {
    written: u64,
    durable: u64,
    /// Manual mode only: batches after the durable one.
    pending: VecDeque<(ShardNumber, Batch)>,
    waiters: Vec<(CommitNumber, Waiter)>,
    pub(crate) observer: Option<SyncObserver>,
}

impl Log {
    /// Gives a commit its number.
    pub(crate) fn append(&mut self) -> CommitNumber {
        self.written += 1;
        CommitNumber(self.written)
    }

    /// Keeps a batch until it is synced.
    pub(crate) fn hold(&mut self, shard: ShardNumber, batch: Batch) {
        self.pending.push_back((shard, batch));
    }

    /// What was written and not synced, oldest first.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &(ShardNumber, Batch)> {
        self.pending.iter()
    }

    /// Declares everything durable, wakes who waited, and gives the batches that became so.
    pub(crate) fn sync(&mut self) -> VecDeque<(ShardNumber, Batch)> {
        let covered = self.written - self.durable;
        self.durable = self.written;
        for (commit, waiter) in self.waiters.drain(..) {
            // A waiter that is gone no longer wants to know.
            let _ = waiter.send(Ok(Durable::attest(commit)));
        }
        if let Some(observer) = self.observer.as_ref().filter(|_| covered > 0) {
            observer(std::time::Duration::ZERO, covered);
        }
        std::mem::take(&mut self.pending)
    }

    /// Asks to be told when a commit is durable; `None` when it is.
    pub(crate) fn wait(&mut self, commit: CommitNumber) -> Option<oneshot::Receiver<Result<Durable, StoreError>>> {
        if commit.0 <= self.durable {
            return None;
        }
        let (waiter, told) = oneshot::channel();
        self.waiters.push((commit, waiter));
        Some(told)
    }
}
