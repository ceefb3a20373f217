//! A partition of a topic: its timelines and its subscriptions.

use std::collections::BTreeMap;

use punctual_types::{Lane, Offset, SubscriptionNumber, Time};

use super::{
    rules::TopicRules,
    stats::{PartitionStats, SubscriptionStats},
    subscription::Subscription,
    timeline::Timeline,
};
use crate::format::partition_totals::PartitionTotals;

/// A partition.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    /// `None` until the catalog has told; nothing is served before.
    pub(crate) rules: Option<TopicRules>,
    pub(crate) timelines: BTreeMap<Lane, Timeline>,
    pub(crate) subscriptions: BTreeMap<SubscriptionNumber, Subscription>,
    pub(crate) totals: PartitionTotals,
}

impl Partition {
    /// The offset below which no subscription wants anything of a lane; `None` when nobody reads
    /// it, for then everything stays.
    pub(crate) fn wanted_from(&self, lane: Lane) -> Option<Offset> {
        self.subscriptions.values().filter_map(|subscription| Some(subscription.readers.get(&lane)?.acks.floor())).min()
    }

    /// Deliveries of a subscription that wait, over its lanes.
    pub(crate) fn ready(&self, subscription: &Subscription) -> u64 {
        let line = |lane| self.timelines.get(lane).map_or(Offset(0), |timeline| timeline.line.offset);
        subscription.readers.iter().map(|(lane, reader)| reader.ready(line(lane))).sum()
    }

    /// The lane that a subscription is to be served from next, if something waits: the highest
    /// priority that has something, over the whole backlog. What is tried again takes turns with
    /// what is fresh, so that neither starves the other.
    pub(crate) fn next_lane(&self, subscription: &Subscription) -> Option<Lane> {
        let waits = |(lane, reader): (&Lane, &super::reader::Reader)| {
            let line = self.timelines.get(lane)?.line.offset;
            reader.offers(line).then_some(*lane)
        };
        let lanes = || subscription.readers.iter().rev().filter_map(waits);
        let fresh = lanes().find(|lane| matches!(lane, Lane::Priority(_)));
        let retry = lanes().find(|lane| matches!(lane, Lane::Retry(_)));
        if subscription.turn.is_multiple_of(2) { fresh.or(retry) } else { retry.or(fresh) }
    }

    pub(crate) fn stats(&self, now: Time) -> PartitionStats {
        let published = self.timelines.iter().filter(|(lane, _)| matches!(lane, Lane::Priority(_)));
        let prepared = self.timelines.get(&Lane::Check).map_or(0, |timeline| timeline.scheduled);
        let mut stats = PartitionStats { prepared, totals: self.totals, ..PartitionStats::default() };
        for (_, timeline) in published {
            stats.scheduled += timeline.scheduled;
            stats.retained += timeline.line.offset.0 - timeline.floor.offset.0;
            stats.next_due = [stats.next_due, timeline.next_due].into_iter().flatten().min();
        }
        for (number, subscription) in &self.subscriptions {
            stats.subscriptions.push(SubscriptionStats {
                subscription: *number,
                ready: self.ready(subscription),
                leased: subscription.leased(),
                retrying: self.timelines.get(&Lane::Retry(*number)).map_or(0, |timeline| timeline.scheduled)
                    + subscription.parked(),
                totals: subscription.totals,
                oldest_due: None,
                breaker: subscription.breaker.state(now),
            });
        }
        stats
    }
}
