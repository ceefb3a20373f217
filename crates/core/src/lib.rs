//! The timeline and the now-line as a pure state machine.
//!
//! A shard's runtime names a [`Command`], asks [`Shard::reads`] what must be read for it, fetches
//! that, and calls [`Shard::apply`]. Out come an [`Answer`] and, from [`Shard::seal`], the batch to
//! commit. The same commands with the same readings of the clock give the same state and the same
//! batches: there is no clock, no randomness, no input or output and no waiting in here, and the
//! core knows no protocol, no store and no text form of an id.
//!
//! `command/` has a file per command, `state/` what a shard remembers, `format/` the bytes in which
//! it is kept (docs/formats.md).

mod command;
mod facts;
mod filter;
pub mod format;
mod hash;
mod state;

pub use command::{
    Answer, CancelAnswer, Command, Crossed, DeliverNowAnswer, Delivered, ExtendAnswer, FoundMessage, Leased,
    LogOffsets, LogRead, MessageHandle, NackAnswer, NackItem, Prepare, PreparedAnswer, PublishAnswer, PublishItem,
    PublishRefusal, Refused, RescheduleAnswer, SettleAnswer, SubscriptionProgress, SubscriptionStart, TransferPiece,
};
pub use facts::Facts;
pub use filter::{Filter, FilterError};
pub use hash::HandleHash;
pub use state::{
    BreakerRules, BreakerState, Due, LeaseRef, OnExpiry, OnKeyConflict, Pace, PartitionId, PartitionStats, Retry,
    Shard, ShardClock, ShardConfig, SubscriptionKind, SubscriptionRules, SubscriptionStats, TopicPlace, TopicRules,
    Transfer, TransferItem, TransferSource,
};
