//! What a shard remembers.

mod ack_set;
mod agenda;
mod breaker;
mod change;
mod crossings;
mod order;
mod pace;
mod partition;
mod pen;
mod reader;
mod rules;
mod shard;
mod stats;
mod stored;
mod subscription;
mod timeline;
mod transfer;

pub(crate) use agenda::LeaseEnd;
pub(crate) use breaker::Probe;
pub use breaker::{BreakerRules, BreakerState};
pub(crate) use order::Turn;
pub use pace::Pace;
pub(crate) use reader::{Lease, Parked, Reader, Receipt as ReceiptState};
pub use rules::{Due, OnExpiry, OnKeyConflict, Retry, SubscriptionKind, SubscriptionRules, TopicRules};
pub use shard::{LeaseRef, PartitionId, Shard, ShardClock, ShardConfig};
pub use stats::{PartitionStats, SubscriptionStats};
pub(crate) use subscription::Subscription;
pub(crate) use timeline::Overdue;
pub use transfer::{TopicPlace, Transfer, TransferItem, TransferSource};
