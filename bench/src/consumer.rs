//! Consuming a load: a task per consumer, which acks what it receives while more comes.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use punctual_broker_api::{AckOutcome, Broker, DelayMs, SubscribeRequest, SubscriptionPath};
use tokio::sync::watch;

use crate::{oracle::Received, publisher::Issued, stopwatch::Stopwatch};

/// Ack calls of one consumer under way at once, before it takes no more messages.
const ACKS_UNDER_WAY: usize = 16;

/// What the consumers of one subscription share.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) received: Mutex<Received>,
    /// Messages received, each once.
    pub(crate) unique: AtomicU64,
    /// Acks that were confirmed.
    pub(crate) acked: AtomicU64,
    /// Acks that were not.
    pub(crate) unacked: AtomicU64,
}

impl Group {
    pub(crate) fn new(run: u64, producers: usize) -> Arc<Self> {
        Arc::new(Self {
            received: Mutex::new(Received::new(run, producers)),
            unique: AtomicU64::new(0),
            acked: AtomicU64::new(0),
            unacked: AtomicU64::new(0),
        })
    }

    /// What was received. A consumer that panicked has told so itself; its counts stand.
    pub(crate) fn received(&self) -> std::sync::MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// One consumer.
pub(crate) struct ConsumerTask {
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) path: SubscriptionPath,
    pub(crate) group: Arc<Group>,
    pub(crate) issued: Arc<Issued>,
    pub(crate) watch: Stopwatch,
    /// Messages that may be on their way.
    pub(crate) credit: u32,
    pub(crate) stop: watch::Receiver<bool>,
}

impl ConsumerTask {
    /// Consumes until told to stop, then ends gracefully.
    pub(crate) async fn run(mut self) -> Result<(), punctual_broker_api::Error> {
        let request = SubscribeRequest { subscription: self.path.clone(), lease: None, max_in_flight: 0 };
        let mut consumer = self.broker.subscribe(request).await?;
        consumer.credit(self.credit);
        let mut acks = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(outcomes) = acks.next(), if !acks.is_empty() => self.count(outcomes),
                next = consumer.next(), if acks.len() < ACKS_UNDER_WAY => {
                    let Some(deliveries) = next else { break };
                    let now = self.watch.now();
                    let mut receipts = Vec::with_capacity(deliveries.len());
                    {
                        let mut received = self.group.received();
                        for delivery in &deliveries {
                            let told = Duration::from_millis(delivery.lateness_ms);
                            received.record(&delivery.body, told, now, |producer| self.issued.of(producer));
                            receipts.push(delivery.receipt.clone());
                        }
                        self.group.unique.store(received.unique, Ordering::Release);
                    }
                    consumer.credit(u32::try_from(deliveries.len()).unwrap_or(u32::MAX));
                    let count = receipts.len();
                    let ack = self.broker.ack(self.path.clone(), receipts);
                    acks.push(async move { (count, ack.await) });
                }
                _ = self.stop.changed() => break,
            }
        }
        consumer.stop().await;
        while let Some(outcomes) = acks.next().await {
            self.count(outcomes);
        }
        drop(acks);
        consumer.close().await;
        Ok(())
    }

    fn count(&self, (count, outcomes): (usize, Result<Vec<AckOutcome>, punctual_broker_api::Error>)) {
        let acked = outcomes.map_or(0, |all| all.iter().filter(|outcome| **outcome == AckOutcome::Acked).count());
        self.group.acked.fetch_add(acked as u64, Ordering::AcqRel);
        self.group.unacked.fetch_add((count - acked.min(count)) as u64, Ordering::AcqRel);
    }
}

/// How long a run waits after the last message is due before it calls the missing ones lost.
pub(crate) fn patience(longest: DelayMs, drain: Duration) -> Duration {
    Duration::from_millis(longest.ms()).saturating_add(drain)
}
