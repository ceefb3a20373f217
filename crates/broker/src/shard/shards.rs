//! All shards of a node: their workers, and the way to them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use punctual_broker_api::{Code, Error};
use punctual_core::{Answer, Command};
use punctual_store_api::{ShardStore, StoreError};
use punctual_types::{ConsumerNumber, ShardNumber};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::{
    AnswerWhen, Board, Request,
    forward::Way,
    limits::{INBOX_MAX, PUBLISHING_BYTES_MAX},
    worker::WorkerSeed,
};
use crate::{clock::Clock, metrics::Metrics};

/// What the shards need.
pub(crate) struct ShardsConfig {
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) workers: usize,
}

/// The way to every shard. Another node's shards would be reached here too: nothing that goes
/// through assumes shared memory but the channels themselves.
pub(crate) struct Shards {
    inboxes: Vec<mpsc::Sender<Request>>,
    stores: Vec<Arc<dyn ShardStore>>,
    publishing: Arc<Semaphore>,
    consumers: AtomicU64,
    /// Pieces of transfers that were taken.
    transfers: Arc<AtomicU64>,
    stopping: AtomicBool,
    failed: watch::Receiver<Option<StoreError>>,
    pub(crate) board: Arc<Board>,
}

/// An answer to what failed: whether it happened is not known.
pub(crate) fn outcome_unknown(error: &StoreError) -> Error {
    Error::new(Code::OutcomeUnknown, format!("the store failed before the answer was safe: {error}"))
        .with_hint("it may have happened: once the broker is back, retry with the same dedup id or look the message up")
}

fn shutting_down() -> Error {
    Error::new(Code::ShuttingDown, "the broker is stopping")
        .with_hint("connect again in a moment")
        .with_retry_after_ms(1000)
}

impl Shards {
    /// Starts the workers over shards that were loaded and opened.
    ///
    /// # Errors
    /// When a worker's thread cannot be started.
    pub(crate) fn start(
        config: ShardsConfig,
        shards: Vec<(punctual_core::Shard, Arc<dyn ShardStore>)>,
    ) -> std::io::Result<Self> {
        let board = Arc::new(Board::default());
        let (fail, failed) = watch::channel(None);
        // Before anybody can look: what a list shows depends on it.
        for (shard, _) in &shards {
            for partition in shard.partition_ids() {
                board.post(partition, shard.partition_stats(partition));
            }
        }
        let stores = shards.iter().map(|(_, store)| store.clone()).collect();
        let workers = config.workers.clamp(1, shards.len().max(1));
        let mut homes: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        for (index, shard) in shards.into_iter().enumerate() {
            if let Some(home) = homes.get_mut(index % workers) {
                home.push(shard);
            }
        }
        let (inboxes, taken_from): (Vec<_>, Vec<_>) = homes.iter().map(|_| mpsc::channel(INBOX_MAX)).unzip();
        let transfers = Arc::new(AtomicU64::new(0));
        let way = Way::new(&inboxes, transfers.clone());
        for (index, (home, inbox)) in homes.into_iter().zip(taken_from).enumerate() {
            WorkerSeed::new(&config, home, inbox, board.clone(), fail.clone(), way.clone()).spawn(index)?;
        }
        Ok(Self {
            inboxes,
            stores,
            publishing: Arc::new(Semaphore::new(PUBLISHING_BYTES_MAX)),
            consumers: AtomicU64::new(0),
            transfers,
            stopping: AtomicBool::new(false),
            failed,
            board,
        })
    }

    fn inbox(&self, shard: ShardNumber) -> &mpsc::Sender<Request> {
        let index = usize::from(shard.0) % self.inboxes.len();
        match self.inboxes.get(index) {
            Some(inbox) => inbox,
            None => unreachable!("a remainder is smaller than what it was divided by"),
        }
    }

    /// The store of a shard, for reading beside it.
    pub(crate) fn store(&self, shard: ShardNumber) -> Option<&Arc<dyn ShardStore>> {
        self.stores.get(usize::from(shard.0))
    }

    /// A number for a consumer.
    pub(crate) fn next_consumer(&self) -> ConsumerNumber {
        ConsumerNumber(self.consumers.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The failure that ended everything, once there is one.
    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.failed.borrow().clone()
    }

    /// Ready when the store has failed.
    pub(crate) async fn failed(&self) -> StoreError {
        let mut failed = self.failed.clone();
        loop {
            if let Some(error) = failed.borrow_and_update().clone() {
                return error;
            }
            if failed.changed().await.is_err() {
                // The workers have ended without a failure: there will be none.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Ready when the workers have ended: stopped, or failed.
    pub(crate) async fn ended(&self) {
        match self.inboxes.first() {
            Some(inbox) => inbox.closed().await,
            None => std::future::pending().await,
        }
    }

    /// What to say of a request that got no answer.
    fn unanswered(&self) -> Error {
        match self.failure() {
            Some(error) => outcome_unknown(&error),
            // What a stopped worker had not begun never will be; what it had, it answered.
            None if self.stopping.load(Ordering::Acquire) => shutting_down(),
            None => Error::new(Code::OutcomeUnknown, "the shard ended before it answered")
                .with_hint("it may have happened: the broker's log says why; once it is back, look or retry with the same dedup id"),
        }
    }

    /// Sends a request, waiting for room.
    pub(crate) async fn send(&self, shard: ShardNumber, request: Request) -> Result<(), Error> {
        self.inbox(shard).send(request).await.map_err(|_| self.unanswered())
    }

    /// Sends a request if there is room; gives it back if not.
    pub(crate) fn try_send(&self, shard: ShardNumber, request: Request) -> Result<(), Box<Request>> {
        self.inbox(shard).try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(request) | mpsc::error::TrySendError::Closed(request) => Box::new(request),
        })
    }

    /// The sender to a shard's worker, for what must be told from where one cannot wait.
    pub(crate) fn sender(&self, shard: ShardNumber) -> mpsc::Sender<Request> {
        self.inbox(shard).clone()
    }

    /// Asks a command and waits for its answer.
    pub(crate) async fn ask(&self, shard: ShardNumber, command: Command, when: AnswerWhen) -> Result<Answer, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(shard, Request::Command { shard, command, when, reply }).await?;
        answer.await.map_err(|_| self.unanswered())?
    }

    /// Begins a publish: refused at once when there is no room, so that a publisher is told instead
    /// of being held.
    pub(crate) fn begin_publish(
        &self,
        shard: ShardNumber,
        command: Command,
        when: AnswerWhen,
    ) -> Result<oneshot::Receiver<Result<Answer, Error>>, Error> {
        let (reply, answer) = oneshot::channel();
        match self.try_send(shard, Request::Command { shard, command, when, reply }) {
            Ok(()) => Ok(answer),
            Err(_) if self.inbox(shard).is_closed() => Err(self.unanswered()),
            Err(_) => Err(overloaded()),
        }
    }

    /// The answer to a publish that was begun.
    pub(crate) async fn end_publish(&self, answer: oneshot::Receiver<Result<Answer, Error>>) -> Result<Answer, Error> {
        answer.await.map_err(|_| self.unanswered())?
    }

    /// Room for so many bytes of messages on their way, held until the permit is dropped.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Error> {
        let permits = u32::try_from(bytes.min(PUBLISHING_BYTES_MAX)).unwrap_or(u32::MAX);
        self.publishing.clone().try_acquire_many_owned(permits).map_err(|_| overloaded())
    }

    /// Moves everything that is due across its line and offers it, on every worker, what arrives
    /// from other shards included.
    pub(crate) async fn settle(&self) {
        loop {
            let before = self.transfers.load(Ordering::SeqCst);
            for inbox in &self.inboxes {
                let (reply, done) = oneshot::channel();
                if inbox.send(Request::Settle { reply }).await.is_ok() {
                    let _ = done.await;
                }
            }
            // A worker that was still has been woken by a transfer since, perhaps.
            if self.transfers.load(Ordering::SeqCst) == before {
                return;
            }
        }
    }

    /// When the first worker next has something to do by itself.
    pub(crate) async fn next_wake(&self) -> Option<punctual_types::Time> {
        let mut first = None;
        for inbox in &self.inboxes {
            let (reply, wake) = oneshot::channel();
            if inbox.send(Request::NextWake { reply }).await.is_ok()
                && let Ok(Some(wake)) = wake.await
            {
                first = Some(first.map_or(wake, |first: punctual_types::Time| first.min(wake)));
            }
        }
        first
    }

    /// Ends every worker, after what is under way is answered.
    pub(crate) async fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        for inbox in &self.inboxes {
            let (reply, done) = oneshot::channel();
            if inbox.send(Request::Stop { reply }).await.is_ok() {
                let _ = done.await;
            }
        }
    }
}

fn overloaded() -> Error {
    Error::new(Code::Overloaded, "the broker has as many messages under way as it can hold")
        .with_hint("publish again after the given time, or with fewer requests in flight")
        .with_retry_after_ms(100)
}
