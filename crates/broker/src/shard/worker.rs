//! A worker: a thread that runs several shards.
//!
//! It sleeps until a request comes, a sync is done, or something is due; then it takes one turn
//! (`turn`). Nothing in a turn waits for a sync: answers that need one are left with a task that
//! does, and the next turn goes on meanwhile.

use std::{rc::Rc, sync::Arc};

use punctual_core::Shard;
use punctual_store_api::{ShardStore, StoreError};
use punctual_types::{CommitNumber, ShardNumber, Time};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    Board, Request, ShardsConfig,
    durability::{Durability, SharedDurability},
    forward::{UnderWay, Way},
    limits::{DRAIN_MAX, KEEP_TIME},
    offers::Offers,
    ready_buffer::ReadyBuffer,
};
use crate::{clock::Clock, metrics::Metrics};

/// The shard whose time stands for the node's.
pub(super) const TIME_KEEPER: ShardNumber = ShardNumber(0);

/// A shard on its worker.
pub(super) struct Seat {
    pub(super) shard: Shard,
    pub(super) store: Arc<dyn ShardStore>,
    pub(super) durability: SharedDurability,
    /// The last commit that was written.
    pub(super) written: CommitNumber,
    /// When the shard's time was last kept.
    pub(super) time_kept: Time,
}

/// A worker and its shards.
pub(super) struct Worker {
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    pub(super) seats: Vec<Seat>,
    inbox: mpsc::Receiver<Request>,
    pub(super) board: Arc<Board>,
    pub(super) fail: watch::Sender<Option<StoreError>>,
    pub(super) synced: Rc<Notify>,
    pub(super) offers: Offers,
    pub(super) ready: ReadyBuffer,
    pub(super) settling: Vec<oneshot::Sender<()>>,
    pub(super) way: Way,
    pub(super) under_way: UnderWay,
    /// The tasks that wait for syncs with their answers.
    pub(super) leaving: JoinSet<()>,
    /// Whether the last turn left something that it could have done.
    pub(super) unfinished: bool,
}

/// What goes into a worker's thread. Its `Rc`s are made there.
pub(super) struct WorkerSeed {
    clock: Clock,
    metrics: Metrics,
    shards: Vec<(Shard, Arc<dyn ShardStore>)>,
    inbox: mpsc::Receiver<Request>,
    board: Arc<Board>,
    fail: watch::Sender<Option<StoreError>>,
    way: Way,
}

impl Worker {
    fn grow(seed: WorkerSeed) -> Self {
        let seat = |(shard, store): (Shard, Arc<dyn ShardStore>)| {
            let durability = Rc::new(Durability::default());
            // Everything that was loaded is durable: the store made it so before it showed it.
            durability.loaded(shard.last_seq());
            let time_kept = shard.time();
            Seat { shard, store, durability, written: CommitNumber(0), time_kept }
        };
        Self {
            clock: seed.clock,
            metrics: seed.metrics,
            seats: seed.shards.into_iter().map(seat).collect(),
            inbox: seed.inbox,
            board: seed.board,
            fail: seed.fail,
            synced: Rc::new(Notify::new()),
            offers: Offers::default(),
            ready: ReadyBuffer::default(),
            settling: Vec::new(),
            way: seed.way,
            under_way: UnderWay::default(),
            leaving: JoinSet::new(),
            unfinished: true,
        }
    }

    /// When there is next something to do without being asked: never more than a second away, since
    /// the shards' time is kept that often.
    fn deadline(&self) -> Time {
        let held = self.clock.is_held();
        let wake = |seat: &Seat| if held { None } else { seat.shard.next_wake(seat.durability.seq()) };
        // Only the shard that keeps the time (`turn::do_what_is_due`) has this deadline: another's
        // would pass and stay passed, and its worker would never sleep again.
        let keeper = self.seats.iter().find(|seat| seat.shard.number() == TIME_KEEPER);
        let kept = keeper.map(|seat| seat.time_kept.saturating_add(KEEP_TIME));
        self.seats.iter().filter_map(wake).chain(kept).min().unwrap_or(Time::MAX)
    }

    async fn run(mut self) {
        let mut requests = Vec::with_capacity(DRAIN_MAX);
        let synced = self.synced.clone();
        loop {
            let deadline = self.deadline();
            let clock = self.clock.clone();
            tokio::select! {
                biased;
                taken = self.inbox.recv_many(&mut requests, DRAIN_MAX) => {
                    if taken == 0 {
                        return;
                    }
                }
                () = synced.notified() => {}
                () = std::future::ready(()), if self.unfinished => {}
                () = clock.wait_until(deadline) => {}
            }
            let stop = match self.turn(&mut requests).await {
                Ok(stop) => stop,
                Err(error) => {
                    latch(&self.fail, error);
                    return;
                }
            };
            if let Some(stopped) = stop {
                let _ = stopped.send(());
                return;
            }
            while self.leaving.try_join_next().is_some() {}
            // Lets the tasks that wait for syncs send their answers between two turns.
            tokio::task::yield_now().await;
        }
    }
}

/// Ends everything when the worker's thread ends by a panic: its shards are in no state to go on,
/// and a process that lives on without them would look well.
struct PanicWatch(watch::Sender<Option<StoreError>>);

impl Drop for PanicWatch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let bug = std::io::Error::other("a worker panicked; its last words are in the log");
            latch(&self.0, StoreError::failed("running shards", "a worker's thread", bug));
        }
    }
}

/// Ends everything: no answer leaves as done after a failure of the store.
pub(super) fn latch(fail: &watch::Sender<Option<StoreError>>, error: StoreError) {
    fail.send_if_modified(|failed| {
        let first = failed.is_none();
        if first {
            tracing::error!(%error, "the store failed; nothing more is acknowledged");
            *failed = Some(error);
        }
        first
    });
}

impl WorkerSeed {
    pub(super) fn new(
        config: &ShardsConfig,
        shards: Vec<(Shard, Arc<dyn ShardStore>)>,
        inbox: mpsc::Receiver<Request>,
        board: Arc<Board>,
        fail: watch::Sender<Option<StoreError>>,
        way: Way,
    ) -> Self {
        Self { clock: config.clock.clone(), metrics: config.metrics.clone(), shards, inbox, board, fail, way }
    }

    /// Runs the worker on a thread of its own.
    pub(super) fn spawn(self, index: usize) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let run = move || {
            let _watch = PanicWatch(self.fail.clone());
            let tasks = tokio::task::LocalSet::new();
            runtime.block_on(tasks.run_until(Worker::grow(self).run()));
        };
        std::thread::Builder::new().name(format!("shards-{index}")).spawn(run).map(drop)
    }
}
