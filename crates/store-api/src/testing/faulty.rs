//! A store that fails on command.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use bytes::Bytes;
use futures_util::FutureExt;
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{BoxFuture, Durable, ShardStore, Store, StoreError, StoreUsage, SyncObserver};

/// Wraps a store so that a test can let its commits and syncs fail, or hold its syncs back.
///
/// It latches as a real one does: after the first failure every call answers that failure. Only a
/// fault that is [`Lasting::Once`] is forgotten, to see whether callers stop by themselves.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Faults,
}

/// The handle by which a test commands the faults. Clones command the same store.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// The store latches, as every store must.
    ForEver,
    /// Only this one call fails, as if a store had forgotten to latch.
    Once,
}

#[derive(Default)]
struct Plan {
    commits: u64,
    durables: u64,
    fail_commit: Option<(u64, Lasting)>,
    fail_durable: Option<(u64, Lasting)>,
    failure: Option<StoreError>,
    /// A failing sync that is held back latches when it is let go.
    failure_held: Option<StoreError>,
    holding: bool,
    held: Vec<Waker>,
}

impl FaultyStore {
    /// Wraps a store.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> (Arc<Self>, Faults) {
        let faults = Faults::default();
        (Arc::new(Self { inner, faults: faults.clone() }), faults)
    }
}

impl Faults {
    /// Lets the `k`-th commit from now fail (1 is the next); it is not written.
    pub fn fail_commit(&self, k: u64, lasting: Lasting) {
        let mut plan = self.plan();
        plan.fail_commit = Some((plan.commits + k, lasting));
    }

    /// Lets the `k`-th call of `durable` from now fail (1 is the next); its commit stays written.
    pub fn fail_durable(&self, k: u64, lasting: Lasting) {
        let mut plan = self.plan();
        plan.fail_durable = Some((plan.durables + k, lasting));
    }

    /// From now on nothing is answered as durable, until [`Self::release`].
    pub fn hold(&self) {
        self.plan().holding = true;
    }

    /// Lets go of what was held back.
    pub fn release(&self) {
        let mut plan = self.plan();
        plan.holding = false;
        if plan.failure.is_none() {
            plan.failure = plan.failure_held.take();
        }
        let held = std::mem::take(&mut plan.held);
        drop(plan);
        held.into_iter().for_each(Waker::wake);
    }

    /// How many commits were asked for.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.plan().commits
    }

    /// How often it was asked whether a commit is durable.
    #[must_use]
    pub fn durables(&self) -> u64 {
        self.plan().durables
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.plan().failure.clone().map_or(Ok(()), Err)
    }

    fn begin_commit(&self) -> Result<(), StoreError> {
        let mut plan = self.plan();
        if let Some(failure) = &plan.failure {
            return Err(failure.clone());
        }
        plan.commits += 1;
        match plan.fail_commit {
            Some((k, lasting)) if k == plan.commits => {
                let error = injected("writing");
                if lasting == Lasting::ForEver {
                    plan.failure = Some(error.clone());
                }
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Counts a call of `durable`; an error that is told to this call alone, once it is let go.
    fn begin_durable(&self) -> Result<Option<StoreError>, StoreError> {
        let mut plan = self.plan();
        if let Some(failure) = &plan.failure {
            return Err(failure.clone());
        }
        plan.durables += 1;
        match plan.fail_durable {
            Some((k, lasting)) if k == plan.durables => {
                let error = injected("syncing");
                match lasting {
                    Lasting::Once => return Ok(Some(error)),
                    Lasting::ForEver if plan.holding => plan.failure_held = Some(error),
                    Lasting::ForEver => plan.failure = Some(error),
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Ready when nothing is held back.
    async fn released(&self) {
        poll_fn(|context| {
            let mut plan = self.plan();
            if !plan.holding {
                return Poll::Ready(());
            }
            plan.held.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

fn injected(doing: &'static str) -> StoreError {
    StoreError::failed(doing, "a faulty store", std::io::Error::other("injected by a test"))
}

impl Store for FaultyStore {
    fn shards(&self) -> u16 {
        self.inner.shards()
    }

    fn secret(&self) -> [u8; 16] {
        self.inner.secret()
    }

    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError> {
        Ok(Arc::new(FaultyShard { inner: self.inner.shard(shard)?, faults: self.faults.clone() }))
    }

    fn failure(&self) -> Option<StoreError> {
        self.faults.plan().failure.clone().or_else(|| self.inner.failure())
    }

    fn usage(&self) -> StoreUsage {
        self.inner.usage()
    }

    fn observe_syncs(&self, observer: SyncObserver) {
        self.inner.observe_syncs(observer);
    }

    fn close(&self) -> Result<(), StoreError> {
        self.faults.check()?;
        self.inner.close()
    }
}

struct FaultyShard {
    inner: Arc<dyn ShardStore>,
    faults: Faults,
}

impl ShardStore for FaultyShard {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>> {
        async move {
            self.faults.begin_commit()?;
            self.inner.commit(batch).await
        }
        .boxed()
    }

    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>> {
        let begun = self.faults.begin_durable();
        let faults = self.faults.clone();
        let inner = self.inner.durable(commit);
        async move {
            let alone = begun?;
            let durable = inner.await;
            faults.released().await;
            // After the wait: a sync that failed meanwhile is told to all who waited.
            faults.check()?;
            match alone {
                Some(error) => Err(error),
                None => durable,
            }
        }
        .boxed()
    }

    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>> {
        async move {
            self.faults.check()?;
            self.inner.read(reads).await
        }
        .boxed()
    }

    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.faults.check()?;
        self.inner.load_state(show)
    }
}
