//! What a shard has to do without being asked, and when.

use std::collections::BTreeSet;

use super::PartitionId;
use punctual_types::{Offset, SubscriptionNumber, Time, TimelineId};

/// When which lease, or which parking, ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LeaseEnd {
    pub(crate) at: Time,
    pub(crate) timeline: TimelineId,
    pub(crate) subscription: SubscriptionNumber,
    pub(crate) offset: Offset,
}

/// Deadlines in order, and timelines whose floor may rise.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The earliest time at which a record of the timeline may be due: never later than the truth.
    pub(crate) due: BTreeSet<(Time, TimelineId)>,
    /// Ends of leases.
    pub(crate) lease_ends: BTreeSet<LeaseEnd>,
    /// When what is parked may be offered again.
    pub(crate) parked: BTreeSet<LeaseEnd>,
    /// When subscriptions that are held up may be offered something again.
    pub(crate) resumes: BTreeSet<(Time, PartitionId, SubscriptionNumber)>,
    /// When a timeline may have kept something for long enough: never later than the truth.
    pub(crate) retentions: BTreeSet<(Time, TimelineId)>,
    /// Timelines whose readers have left the floor far behind.
    pub(crate) floors: BTreeSet<TimelineId>,
}

impl Agenda {
    /// Notes when a timeline is next to be looked at.
    pub(crate) fn set_due(&mut self, timeline: TimelineId, before: &mut Option<Time>, after: Option<Time>) {
        if *before == after {
            return;
        }
        if let Some(time) = *before {
            self.due.remove(&(time, timeline));
        }
        if let Some(time) = after {
            self.due.insert((time, timeline));
        }
        *before = after;
    }
}
