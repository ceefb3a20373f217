//! What a shard answers.

use punctual_types::{DelayMs, Position, Seq, SubscriptionNumber, TimelineId};

use super::{
    CancelAnswer, Crossed, DeliverNowAnswer, ExtendAnswer, FoundMessage, Leased, LogOffsets, LogRead, NackAnswer,
    PreparedAnswer, PublishAnswer, RescheduleAnswer, SettleAnswer, TransferPiece,
};
use crate::state::{PartitionId, PartitionStats};

/// What a command answers.
#[derive(Debug)]
pub enum Answer {
    /// It was done.
    Done,
    /// The partition or subscription is not here: its topic was deleted meanwhile.
    Gone,
    /// To `Publish`.
    Published(Vec<PublishAnswer>),
    /// To `Advance`.
    Crossed(Crossed),
    /// To `Lease`.
    Leased(Leased),
    /// To `Ack`, `Release`.
    Settled(Vec<SettleAnswer>),
    /// To `Nack`.
    Nacked(Vec<NackAnswer>),
    /// To `Extend`.
    Extended(Vec<ExtendAnswer>),
    /// To `ExpireLeases` and `Disconnect`: the subscriptions that have something to offer again.
    Returned(Vec<(PartitionId, SubscriptionNumber)>),
    /// To `Cancel`.
    Cancelled(CancelAnswer),
    /// To `Reschedule`.
    Rescheduled(Result<RescheduleAnswer, Refused>),
    /// To `DeliverNow`.
    DeliveredNow(DeliverNowAnswer),
    /// To `LogOffsets`.
    LogOffsets(LogOffsets),
    /// To `ReadLog`.
    LogRead(LogRead),
    /// To `CommitOffset`: whether there is such an offset yet.
    OffsetCommitted(bool),
    /// To `Decide`.
    Decided(PreparedAnswer),
    /// To `CancelRange`: how many went, and where to go on, if there may be more.
    RangeCancelled {
        /// How many.
        cancelled: u64,
        /// Where the next piece begins; `None` at the end.
        next: Option<Position>,
    },
    /// To `Get`.
    Found(Option<Box<FoundMessage>>),
    /// To `Stats`.
    Stats(PartitionStats),
    /// To `Line`.
    Line {
        /// Where the line stands.
        line: Position,
        /// What is dropped.
        floor: Position,
        /// The highest sequence number given.
        last_seq: Seq,
    },
    /// To `Lines`.
    Lines {
        /// The published lanes, and where the line of each stands.
        lines: Vec<(TimelineId, Position)>,
        /// The highest sequence number given.
        last_seq: Seq,
    },
    /// To `Outgoing`.
    Outgoing(TransferPiece),
    /// To `Accept`: how many transfers were dropped because what they were for was deleted.
    Accepted {
        /// How many.
        dropped: u64,
    },
}

/// Why a due time was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The delay is over the namespace's limit.
    DelayTooLong {
        /// The delay asked for.
        delay: DelayMs,
        /// The limit.
        limit: DelayMs,
    },
    /// It would end after the year 9999.
    PastTheEnd,
}
