//! What the doors' side asks of a worker.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize},
};

use punctual_broker_api::Error;
use punctual_core::{Answer, Command, Delivered, PartitionId};
use punctual_types::{ConsumerNumber, DelayMs, ShardNumber, SubscriptionNumber, Time};
use tokio::sync::{mpsc, oneshot, watch};

use super::Credit;

/// When an answer leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerWhen {
    /// When everything applied before it is durable.
    Durable,
    /// When everything applied before it is written.
    Written,
}

/// A subscription on a partition on its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SubscriptionAt {
    pub(crate) shard: ShardNumber,
    pub(crate) partition: PartitionId,
    pub(crate) subscription: SubscriptionNumber,
}

/// Deliveries that leave together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) deliveries: Vec<Delivered>,
    pub(crate) delivered_at: Time,
}

impl Batch {
    /// Bytes of the bodies.
    pub(crate) fn bytes(&self) -> usize {
        self.deliveries.iter().map(|delivery| delivery.record.body.len()).sum()
    }
}

/// Somebody who waits for deliveries.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) consumer: ConsumerNumber,
    pub(crate) credit: Arc<Credit>,
    pub(crate) sink: mpsc::Sender<Batch>,
    pub(crate) lease: Option<DelayMs>,
    /// Bytes of one batch.
    pub(crate) bytes_max: u64,
    /// Messages of one batch.
    pub(crate) batch_max: u32,
    /// Bytes that wait in the sink.
    pub(crate) queued: Arc<AtomicUsize>,
    /// Whether it was passed over because too much waited there.
    pub(crate) passed_over: Arc<AtomicBool>,
    /// Told when the subscription is deleted.
    pub(crate) gone: watch::Sender<bool>,
    /// Messages of the partition with this consumer at once; `None` for no bound of its own.
    pub(crate) in_flight_max: Option<u32>,
}

/// A request to a worker.
#[derive(Debug)]
pub(crate) enum Request {
    /// Apply a command.
    Command { shard: ShardNumber, command: Command, when: AnswerWhen, reply: oneshot::Sender<Result<Answer, Error>> },
    /// Offer to a waiter what is ready now, and keep it waiting if so asked; tells when that was
    /// tried.
    Wait { at: SubscriptionAt, waiter: Waiter, keep: bool, tried: oneshot::Sender<()> },
    /// A waiter has more credit.
    Wake { at: SubscriptionAt },
    /// A waiter waits no more; tells when it is forgotten.
    Unwait { at: SubscriptionAt, consumer: ConsumerNumber, done: oneshot::Sender<()> },
    /// Tells when everything that is due has crossed and been offered.
    Settle { reply: oneshot::Sender<()> },
    /// When the worker next has something to do by itself.
    NextWake { reply: oneshot::Sender<Option<Time>> },
    /// Answer what is under way, give back every lease, and end.
    Stop { reply: oneshot::Sender<()> },
}
