//! What a shard can be asked, a file per command.
//!
//! Every command has two halves: `reads`, which names what must be known (asked again after each
//! round, since what is read first may name what to read next), and `apply`, which decides.

mod accept;
mod ack;
mod advance;
mod answer;
mod arrived;
mod cancel;
mod cancel_range;
mod check;
mod configure;
mod deliver_now;
mod disconnect;
mod dispatch;
mod expire;
mod expire_leases;
mod extend;
mod fail;
mod get;
mod keep;
mod lapse;
mod lease;
mod lines;
mod locate;
mod log;
mod nack;
mod outgoing;
mod pick;
mod prepared;
mod publish;
mod raise_floor;
mod release;
mod reschedule;
mod retain;
mod seek;
mod stats;
mod subscribe;

use bytes::Bytes;
use punctual_types::{
    ConsumerNumber, DelayMs, Lane, Mark, MessageRef, Now, Offset, Position, Seq, ShardNumber, SubscriptionNumber, Time,
    TimelineId,
};

pub use ack::SettleAnswer;
pub use advance::Crossed;
pub use answer::{Answer, Refused};
pub use cancel::CancelAnswer;
pub use deliver_now::DeliverNowAnswer;
pub use extend::ExtendAnswer;
pub use get::{FoundMessage, SubscriptionProgress};
pub use lease::{Delivered, Leased};
pub use locate::MessageHandle;
pub use log::{LogOffsets, LogRead};
pub use nack::{NackAnswer, NackItem};
pub use outgoing::TransferPiece;
pub use prepared::PreparedAnswer;
pub use publish::{Prepare, PublishAnswer, PublishItem, PublishRefusal};
pub use reschedule::RescheduleAnswer;
pub use subscribe::SubscriptionStart;

use crate::state::{Due, LeaseRef, PartitionId, SubscriptionRules, TopicRules, Transfer, TransferSource};

/// A question or an order to a shard.
#[derive(Debug)]
pub enum Command {
    /// Tell a partition its topic's settings; makes it.
    Configure {
        /// Which partition.
        partition: PartitionId,
        /// The settings.
        rules: TopicRules,
    },
    /// Forget a partition with all it holds.
    DeletePartition {
        /// Which partition.
        partition: PartitionId,
    },
    /// Make a subscription on a partition, or change one.
    Subscribe {
        /// On which partition.
        partition: PartitionId,
        /// Which subscription.
        subscription: SubscriptionNumber,
        /// Its settings.
        rules: SubscriptionRules,
        /// Where it begins, if it is new.
        start: SubscriptionStart,
    },
    /// Forget a subscription.
    Unsubscribe {
        /// On which partition.
        partition: PartitionId,
        /// Which subscription.
        subscription: SubscriptionNumber,
    },
    /// Take messages.
    Publish {
        /// Into which partition.
        partition: PartitionId,
        /// The messages.
        items: Vec<PublishItem>,
        /// The longest delay that the namespace allows.
        max_delay: Option<DelayMs>,
    },
    /// Move a line towards now. Reads a window: apply it after the batch before is written.
    Advance {
        /// Of which timeline.
        timeline: TimelineId,
        /// Stop at the first message with a higher sequence number: it is not yet durable.
        durable: Seq,
        /// Whether to read whole records, because somebody waits for them.
        values: bool,
    },
    /// Take the next piece of the marks that are due on an expiry timeline. Reads a window.
    Expire {
        /// The expiry timeline.
        timeline: TimelineId,
    },
    /// Take the next piece of the prepared messages whose check is due. Reads a window.
    Check {
        /// The check timeline.
        timeline: TimelineId,
    },
    /// Which offsets a partition has. Reads a window.
    LogOffsets {
        /// Of which partition.
        partition: PartitionId,
        /// Whose commit is asked for.
        subscription: Option<SubscriptionNumber>,
        /// Which time's offset is asked for.
        at: Option<Time>,
    },
    /// Read a partition by offset. Reads a window.
    ReadLog {
        /// Which partition.
        partition: PartitionId,
        /// From this offset, or the earliest.
        from: Offset,
        /// At most so many; at least 1.
        max: u32,
        /// Stop at so many bytes of records.
        bytes_max: u64,
    },
    /// Set what a stream subscription has committed.
    CommitOffset {
        /// On which partition.
        partition: PartitionId,
        /// Which subscription.
        subscription: SubscriptionNumber,
        /// Everything below is done with.
        offset: Offset,
    },
    /// Decide over a prepared message.
    Decide {
        /// In which partition.
        partition: PartitionId,
        /// Which message.
        message: MessageRef,
        /// Whether it is to be delivered; else it never was.
        commit: bool,
    },
    /// End the next piece of what a timeline has kept for long enough. Reads a window.
    Retain {
        /// Of which timeline.
        timeline: TimelineId,
    },
    /// Let a floor follow its readers.
    RaiseFloor {
        /// Of which timeline.
        timeline: TimelineId,
    },
    /// Lease messages to a consumer. Reads a window: apply it after the batch before is written.
    Lease {
        /// From which partition.
        partition: PartitionId,
        /// Of which subscription.
        subscription: SubscriptionNumber,
        /// From which lane, as [`Shard::offers`] says.
        lane: Lane,
        /// To whom.
        consumer: ConsumerNumber,
        /// At most so many; at least 1.
        max: u32,
        /// Stop at so many bytes of records.
        bytes_max: u64,
        /// For how long, instead of the subscription's lease.
        lease: Option<DelayMs>,
    },
    /// Ack.
    Ack {
        /// What.
        leases: Vec<LeaseRef>,
    },
    /// Nack.
    Nack {
        /// What, with random bits for the jitter of each.
        items: Vec<NackItem>,
        /// Try again after this, instead of what the policy says.
        delay: Option<DelayMs>,
        /// What went wrong.
        error: Option<String>,
    },
    /// Give back, attempts not raised.
    Release {
        /// What.
        leases: Vec<LeaseRef>,
    },
    /// Let leases run so long from now.
    Extend {
        /// Which.
        leases: Vec<LeaseRef>,
        /// How long.
        lease: DelayMs,
    },
    /// A consumer is gone.
    Disconnect {
        /// From which partition.
        partition: PartitionId,
        /// Of which subscription.
        subscription: SubscriptionNumber,
        /// Which consumer.
        consumer: ConsumerNumber,
        /// Whether it said so: then attempts are not raised.
        graceful: bool,
    },
    /// Take back what leases have ended for, and let go what was held up until now, at most so many
    /// of each.
    ExpireLeases {
        /// How many.
        limit: u32,
    },
    /// Cancel a scheduled message.
    Cancel {
        /// In which partition.
        partition: PartitionId,
        /// Which message.
        handle: MessageHandle,
    },
    /// Move a scheduled message.
    Reschedule {
        /// In which partition.
        partition: PartitionId,
        /// Which message.
        handle: MessageHandle,
        /// To when.
        due: Due,
        /// The longest delay that the namespace allows.
        max_delay: Option<DelayMs>,
    },
    /// Make a scheduled message due now.
    DeliverNow {
        /// In which partition.
        partition: PartitionId,
        /// Which message.
        handle: MessageHandle,
    },
    /// Cancel a bounded piece of a range. Reads a window.
    CancelRange {
        /// On which timeline.
        timeline: TimelineId,
        /// After this position.
        after: Position,
        /// Up to this position.
        to: Position,
        /// Only what was published up to this number.
        seq_max: Seq,
    },
    /// Look at one message.
    Get {
        /// In which partition.
        partition: PartitionId,
        /// Which message.
        handle: MessageHandle,
    },
    /// Count a partition.
    Stats {
        /// Which.
        partition: PartitionId,
    },
    /// Where a timeline's line stands, and how far the shard's numbers go. Also a barrier: its
    /// answer waits for everything before it.
    Line {
        /// Of which timeline.
        timeline: TimelineId,
    },
    /// Where the lines of all published lanes of a partition stand. Also a barrier.
    Lines {
        /// Of which partition.
        partition: PartitionId,
    },
    /// Keep pieces of state that are not the core's (`None` forgets one).
    Keep {
        /// Their keys, of a family from [`crate::format::state_key::FIRST_FOREIGN_FAMILY`] on.
        pieces: Vec<(Bytes, Option<Bytes>)>,
        /// What is published with them, exactly once: each goes to the partition's shard as a
        /// transfer of this batch.
        publishes: Vec<(ShardNumber, PartitionId, PublishItem)>,
    },
    /// What is on its way to another shard, in order. Reads a window.
    Outgoing {
        /// To which.
        target: ShardNumber,
        /// At most so many; at least 1.
        limit: u32,
    },
    /// Take transfers of another shard, those that were taken before passed over.
    Accept {
        /// From whom.
        source: TransferSource,
        /// Up to which number this piece goes.
        up_to: u64,
        /// What, in the order of their numbers.
        transfers: Vec<Transfer>,
    },
    /// Forget transfers that have arrived.
    Arrived {
        /// At which shard.
        target: ShardNumber,
        /// Up to where, as [`TransferPiece`] says.
        up_to: Mark,
    },
    /// Move a subscription.
    Seek {
        /// On which partition.
        partition: PartitionId,
        /// Which subscription.
        subscription: SubscriptionNumber,
        /// To the first message due at or after this; [`Time::ZERO`] is the oldest there is and
        /// `None` past everything that has come due.
        to: Option<Time>,
    },
}

/// Decides when a message is due: counted from the upper millisecond, so never early, and refused
/// rather than clamped.
pub(crate) fn decide_due(due: Due, max_delay: Option<DelayMs>, now: Now) -> Result<Time, Refused> {
    let (time, delay) = match due {
        Due::Now => return Ok(now.floor),
        Due::After(DelayMs::ZERO) => return Ok(now.floor),
        Due::After(delay) => (now.ceil.checked_add(delay), delay),
        Due::At(time) => (Some(time.max(now.floor)), time.since(now.floor)),
    };
    match max_delay {
        Some(limit) if delay > limit => Err(Refused::DelayTooLong { delay, limit }),
        _ => time.ok_or(Refused::PastTheEnd),
    }
}

/// A lease by where it lies.
pub(crate) type LeasePlace = (TimelineId, SubscriptionNumber, Offset);
