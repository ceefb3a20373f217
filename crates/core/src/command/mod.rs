//! What a shard can be asked, a file per command.
//!
//! Every command has two halves: `reads`, which names what must be known (asked again after each
//! round, since what is read first may name what to read next), and `apply`, which decides.

mod ack;
mod advance;
mod answer;
mod cancel;
mod cancel_range;
mod configure;
mod deliver_now;
mod disconnect;
mod expire_leases;
mod extend;
mod fail;
mod get;
mod keep;
mod lease;
mod locate;
mod nack;
mod publish;
mod raise_floor;
mod release;
mod reschedule;
mod seek;
mod stats;
mod subscribe;

use bytes::Bytes;
use punctual_types::{
    ConsumerNumber, DelayMs, Lane, Now, Offset, Position, Read, Seq, SubscriptionNumber, Time, TimelineId,
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
pub use nack::{NackAnswer, NackItem};
pub use publish::{PublishAnswer, PublishItem, PublishRefusal};
pub use reschedule::RescheduleAnswer;
pub use subscribe::SubscriptionStart;

use crate::{
    Facts,
    state::{Due, LeaseRef, PartitionId, Shard, SubscriptionRules, TopicRules},
};

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
    /// Take back what leases have ended for, at most so many.
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
    /// Keep pieces of state that are not the core's (`None` forgets one).
    Keep {
        /// Their keys, of a family from [`crate::format::state_key::FIRST_FOREIGN_FAMILY`] on.
        pieces: Vec<(Bytes, Option<Bytes>)>,
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

impl Command {
    /// Whether the command reads windows, whose answers do not follow what the batch before them
    /// writes: it must be applied after that is written, and what it writes itself must be written
    /// before anything is read for the commands after it.
    #[must_use]
    pub fn reads_windows(&self) -> bool {
        match self {
            Self::Advance { .. }
            | Self::RaiseFloor { .. }
            | Self::Lease { .. }
            | Self::CancelRange { .. }
            | Self::Get { .. }
            | Self::Stats { .. }
            | Self::Seek { .. } => true,
            Self::Configure { .. }
            | Self::DeletePartition { .. }
            | Self::Subscribe { .. }
            | Self::Unsubscribe { .. }
            | Self::Publish { .. }
            | Self::Ack { .. }
            | Self::Nack { .. }
            | Self::Release { .. }
            | Self::Extend { .. }
            | Self::Disconnect { .. }
            | Self::ExpireLeases { .. }
            | Self::Cancel { .. }
            | Self::Reschedule { .. }
            | Self::DeliverNow { .. }
            | Self::Line { .. }
            | Self::Keep { .. } => false,
        }
    }
}

impl Shard {
    /// What must be read before the command can be applied, beyond what the facts already tell.
    /// Ask again with the answers until nothing is named.
    #[must_use]
    pub fn reads(&self, command: &Command, facts: &Facts, now: Now) -> Vec<Read> {
        let now = now.not_before(self.meta.time);
        let mut wanted = Vec::new();
        match command {
            Command::Publish { partition, items, .. } => self.publish_reads(*partition, items, facts, &mut wanted),
            Command::Advance { timeline, values, .. } => {
                self.advance_reads(*timeline, *values, now, facts, &mut wanted)
            }
            Command::RaiseFloor { timeline } => self.raise_floor_reads(*timeline, facts, &mut wanted),
            Command::Lease { partition, subscription, lane, max, bytes_max, .. } => {
                self.lease_reads(partition.lane(*lane), *subscription, *max, *bytes_max, facts, &mut wanted);
            }
            Command::Nack { items, .. } => self.nack_reads(items, facts, &mut wanted),
            Command::Disconnect { partition, subscription, consumer, graceful: false } => {
                self.disconnect_reads(*partition, *subscription, *consumer, facts, &mut wanted);
            }
            Command::ExpireLeases { limit } => self.expire_leases_reads(*limit, now, facts, &mut wanted),
            Command::Cancel { partition, handle }
            | Command::Reschedule { partition, handle, .. }
            | Command::DeliverNow { partition, handle } => self.locate_reads(*partition, handle, facts, &mut wanted),
            Command::Get { partition, handle } => self.get_reads(*partition, handle, facts, &mut wanted),
            Command::CancelRange { timeline, after, to, .. } => {
                self.cancel_range_reads(*timeline, *after, *to, now, facts, &mut wanted);
            }
            Command::Stats { partition } => self.stats_reads(*partition, facts, &mut wanted),
            Command::Seek { partition, to, .. } => self.seek_reads(*partition, *to, facts, &mut wanted),
            Command::Configure { .. }
            | Command::DeletePartition { .. }
            | Command::Subscribe { .. }
            | Command::Unsubscribe { .. }
            | Command::Ack { .. }
            | Command::Release { .. }
            | Command::Extend { .. }
            | Command::Disconnect { graceful: true, .. }
            | Command::Keep { .. }
            | Command::Line { .. } => {}
        }
        wanted
    }

    /// Decides, changes the state and adds to the batch.
    pub fn apply(&mut self, command: Command, facts: &mut Facts, now: Now) -> Answer {
        let now = now.not_before(self.meta.time);
        self.meta.time = now.floor;
        match command {
            Command::Configure { partition, rules } => self.configure(partition, rules),
            Command::DeletePartition { partition } => self.delete_partition(partition, facts),
            Command::Subscribe { partition, subscription, rules, start } => {
                self.subscribe(partition, subscription, rules, start)
            }
            Command::Unsubscribe { partition, subscription } => self.unsubscribe(partition, subscription, facts),
            Command::Publish { partition, items, max_delay } => self.publish(partition, items, max_delay, facts, now),
            Command::Advance { timeline, durable, values } => self.advance(timeline, durable, values, facts, now),
            Command::RaiseFloor { timeline } => self.raise_floor_to_readers(timeline, facts),
            Command::Lease { partition, subscription, lane, consumer, max, bytes_max, lease } => {
                let to = lease::LeaseTo { consumer, max, bytes_max, lease };
                self.lease(partition.lane(lane), subscription, &to, facts, now)
            }
            Command::Ack { leases } => self.ack(&leases, facts),
            Command::Nack { items, delay, error } => self.nack(&items, delay, error.as_deref(), facts, now),
            Command::Release { leases } => self.release(&leases),
            Command::Extend { leases, lease } => self.extend(&leases, lease, now),
            Command::Disconnect { partition, subscription, consumer, graceful } => {
                self.disconnect(partition, subscription, consumer, graceful, facts, now)
            }
            Command::ExpireLeases { limit } => self.expire_leases(limit, facts, now),
            Command::Cancel { partition, handle } => self.cancel(partition, &handle, facts, now),
            Command::Reschedule { partition, handle, due, max_delay } => {
                Answer::Rescheduled(self.reschedule(partition, &handle, due, max_delay, facts, now))
            }
            Command::DeliverNow { partition, handle } => self.deliver_now(partition, &handle, facts, now),
            Command::CancelRange { timeline, after, to, seq_max } => {
                self.cancel_range(timeline, after, to, seq_max, facts, now)
            }
            Command::Get { partition, handle } => self.get(partition, &handle, facts),
            Command::Stats { partition } => self.stats(partition, facts),
            Command::Line { timeline } => self.line_answer(timeline),
            Command::Keep { pieces } => self.keep(pieces, facts),
            Command::Seek { partition, subscription, to } => self.seek(partition, subscription, to, facts),
        }
    }

    fn line_answer(&self, timeline: TimelineId) -> Answer {
        let (line, floor) =
            self.timeline(timeline).map_or((Position::MIN, Position::MIN), |it| (it.line.position, it.floor.position));
        Answer::Line { line, floor, last_seq: self.meta.last_seq }
    }
}

/// A lease by where it lies.
pub(crate) type LeasePlace = (TimelineId, SubscriptionNumber, Offset);
