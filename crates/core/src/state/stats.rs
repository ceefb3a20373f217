//! What a partition holds and has done.

use punctual_types::{SubscriptionNumber, Time};

use super::BreakerState;
use crate::format::{partition_totals::PartitionTotals, subscription_totals::SubscriptionTotals};

/// A partition, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStats {
    /// Messages ahead of the line.
    pub scheduled: u64,
    /// Messages that wait for their producer's decision.
    pub prepared: u64,
    /// Messages past the line that no floor has passed.
    pub retained: u64,
    /// When the next message may be due: never later than it is.
    pub next_due: Option<Time>,
    /// What happened so far.
    pub totals: PartitionTotals,
    /// Its subscriptions.
    pub subscriptions: Vec<SubscriptionStats>,
}

/// A subscription on a partition, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionStats {
    /// Which.
    pub subscription: SubscriptionNumber,
    /// Deliveries that wait.
    pub ready: u64,
    /// Deliveries with consumers.
    pub leased: u64,
    /// Deliveries to be tried again later.
    pub retrying: u64,
    /// What it did so far.
    pub totals: SubscriptionTotals,
    /// When the oldest waiting message was due; only where that was asked for.
    pub oldest_due: Option<Time>,
    /// Whether its breaker lets messages through.
    pub breaker: BreakerState,
}
