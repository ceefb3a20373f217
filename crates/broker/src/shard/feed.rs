//! A consumer's end of its subscription, over all partitions.

use std::sync::{Arc, atomic::Ordering};

use punctual_broker_api::{DelayMs, Error};
use punctual_core::{Command, LeaseRef};
use punctual_types::ShardNumber;
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    AnswerWhen, Credit, Request, Shards, SubscriptionAt, Waiter,
    limits::{FEED_BATCHES_MAX, OFFER_BATCH_MAX, OFFER_BYTES_MAX},
    request::Batch,
};

/// What happens to what the consumer holds when the feed is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtDrop {
    /// Nothing: it was handed out, and its leases run.
    Keep,
    /// It goes back, attempts not raised: it was never handed out.
    Release,
    /// It goes back, attempts raised: the connection is lost.
    Fail,
}

/// How a feed is to deliver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedConfig {
    pub(crate) lease: Option<DelayMs>,
    pub(crate) bytes_max: u64,
    pub(crate) batch_max: u32,
    pub(crate) in_flight_max: Option<u32>,
}

/// Deliveries of one subscription for one consumer.
pub(crate) struct Feed {
    shards: Arc<Shards>,
    places: Vec<SubscriptionAt>,
    waiter: Waiter,
    batches: mpsc::Receiver<Batch>,
    gone: watch::Receiver<bool>,
    at_drop: AtDrop,
}

impl Feed {
    /// A feed of a stream.
    pub(crate) fn stream(
        shards: Arc<Shards>,
        places: Vec<SubscriptionAt>,
        lease: Option<DelayMs>,
        in_flight_max: Option<u32>,
    ) -> Self {
        let config = FeedConfig { lease, bytes_max: OFFER_BYTES_MAX, batch_max: OFFER_BATCH_MAX, in_flight_max };
        Self::new(shards, places, Credit::stream(), config, AtDrop::Fail)
    }

    /// A feed of one receive call.
    pub(crate) fn once(
        shards: Arc<Shards>,
        places: Vec<SubscriptionAt>,
        lease: Option<DelayMs>,
        max: u32,
        bytes_max: u64,
    ) -> Self {
        let config = FeedConfig { lease, bytes_max, batch_max: max, in_flight_max: None };
        Self::new(shards, places, Credit::once(max), config, AtDrop::Release)
    }

    fn new(
        shards: Arc<Shards>,
        places: Vec<SubscriptionAt>,
        credit: Credit,
        config: FeedConfig,
        at_drop: AtDrop,
    ) -> Self {
        let (sink, batches) = mpsc::channel(FEED_BATCHES_MAX);
        let (told, gone) = watch::channel(false);
        let waiter = Waiter {
            consumer: shards.next_consumer(),
            credit: Arc::new(credit),
            sink,
            lease: config.lease,
            bytes_max: config.bytes_max,
            batch_max: config.batch_max,
            queued: Arc::default(),
            passed_over: Arc::default(),
            gone: told,
            in_flight_max: config.in_flight_max,
        };
        Self { shards, places, waiter, batches, gone, at_drop }
    }

    /// Begins to wait at every partition.
    pub(crate) async fn wait(&self) -> Result<(), Error> {
        for at in &self.places {
            let (tried, _) = oneshot::channel();
            let request = Request::Wait { at: *at, waiter: self.waiter.clone(), keep: true, tried };
            self.shards.send(at.shard, request).await?;
        }
        Ok(())
    }

    /// Takes what is ready now, up to the bounds of the call, from one partition after the other,
    /// beginning with the one whose turn it is.
    pub(crate) async fn take_ready(&mut self, turn: usize) -> Result<Option<Batch>, Error> {
        let (mut left, mut bytes_left) = (self.waiter.batch_max, self.waiter.bytes_max);
        let mut taken: Option<Batch> = None;
        for index in 0..self.places.len() {
            let Some(at) = self.places.get((turn + index) % self.places.len()) else { continue };
            let (tried, told) = oneshot::channel();
            let credit = Arc::new(Credit::once(left));
            let waiter = Waiter { credit, batch_max: left, bytes_max: bytes_left, ..self.waiter.clone() };
            self.shards.send(at.shard, Request::Wait { at: *at, waiter, keep: false, tried }).await?;
            let _ = told.await;
            let Ok(batch) = self.batches.try_recv() else { continue };
            let bytes = batch.bytes();
            self.waiter.queued.fetch_sub(bytes, Ordering::AcqRel);
            left = left.saturating_sub(u32::try_from(batch.deliveries.len()).unwrap_or(u32::MAX));
            bytes_left = bytes_left.saturating_sub(bytes as u64);
            match &mut taken {
                None => taken = Some(batch),
                Some(taken) => taken.deliveries.extend(batch.deliveries),
            }
            if left == 0 || bytes_left == 0 {
                break;
            }
        }
        Ok(taken)
    }

    /// The next batch; `None` when the subscription was deleted or the broker stops. May be dropped
    /// and asked again.
    pub(crate) async fn next(&mut self) -> Option<Batch> {
        let batch = tokio::select! {
            biased;
            batch = self.batches.recv() => batch,
            // The feed itself keeps both senders, so neither channel closes by itself.
            _ = self.gone.wait_for(|gone| *gone) => None,
            () = self.shards.ended() => None,
        };
        if let Some(batch) = &batch {
            self.waiter.queued.fetch_sub(batch.bytes(), Ordering::SeqCst);
        }
        if self.waiter.passed_over.swap(false, Ordering::SeqCst) {
            // Passed over however much credit there is, because too much waited; now there is room.
            self.wake();
        }
        batch
    }

    /// What is there already.
    pub(crate) fn try_next(&mut self) -> Option<Batch> {
        let batch = self.batches.try_recv().ok()?;
        self.waiter.queued.fetch_sub(batch.bytes(), Ordering::AcqRel);
        Some(batch)
    }

    /// Allows so many more messages.
    pub(crate) fn credit(&self, messages: u32) {
        self.waiter.credit.add(messages);
        self.wake();
    }

    /// Tells the workers that there is room again.
    fn wake(&self) {
        for at in &self.places {
            tell(&self.shards, at.shard, Request::Wake { at: *at });
        }
    }

    /// Lets no further delivery leave.
    pub(crate) async fn stop(&mut self) {
        self.waiter.credit.close();
        for at in &self.places {
            let (done, told) = oneshot::channel();
            let request = Request::Unwait { at: *at, consumer: self.waiter.consumer, done };
            if self.shards.send(at.shard, request).await.is_ok() {
                let _ = told.await;
            }
        }
    }

    /// Gives back messages that were never handed out.
    pub(crate) async fn give_back(&self, batch: &Batch) {
        let mut by_shard: std::collections::BTreeMap<ShardNumber, Vec<LeaseRef>> = std::collections::BTreeMap::new();
        for delivery in &batch.deliveries {
            let at = self.places.iter().find(|at| at.partition == delivery.lease.timeline.into());
            if let Some(at) = at {
                by_shard.entry(at.shard).or_default().push(delivery.lease);
            }
        }
        for (shard, leases) in by_shard {
            let _ = self.shards.ask(shard, Command::Release { leases }, AnswerWhen::Written).await;
        }
    }

    /// What was received is the caller's: its leases run on without the feed.
    pub(crate) fn hand_out(mut self) {
        self.at_drop = AtDrop::Keep;
    }

    /// Releases everything that the consumer holds.
    pub(crate) async fn release_all(mut self) {
        self.stop().await;
        for at in &self.places {
            let _ = self.shards.ask(at.shard, self.disconnect(*at, true), AnswerWhen::Written).await;
        }
        self.at_drop = AtDrop::Keep;
    }

    fn disconnect(&self, at: SubscriptionAt, graceful: bool) -> Command {
        let (partition, subscription, consumer) = (at.partition, at.subscription, self.waiter.consumer);
        Command::Disconnect { partition, subscription, consumer, graceful }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.waiter.credit.close();
        for at in &self.places {
            let (done, _) = oneshot::channel();
            tell(&self.shards, at.shard, Request::Unwait { at: *at, consumer: self.waiter.consumer, done });
            let graceful = match self.at_drop {
                AtDrop::Keep => continue,
                AtDrop::Release => true,
                AtDrop::Fail => false,
            };
            let (reply, _) = oneshot::channel();
            let command = self.disconnect(*at, graceful);
            tell(
                &self.shards,
                at.shard,
                Request::Command { shard: at.shard, command, when: AnswerWhen::Written, reply },
            );
        }
    }
}

/// Tells a worker something from where one cannot wait. When its inbox is full a task waits for
/// room; requests of one feed may then overtake each other, which none of them minds.
fn tell(shards: &Shards, shard: ShardNumber, request: Request) {
    if let Err(request) = shards.try_send(shard, request)
        && let Ok(runtime) = tokio::runtime::Handle::try_current()
    {
        let sender = shards.sender(shard);
        runtime.spawn(async move {
            let _ = sender.send(*request).await;
        });
    }
}
