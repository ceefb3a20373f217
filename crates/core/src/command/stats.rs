//! Counting a partition.

use punctual_types::{Lane, Read, SubscriptionNumber, TimelineId};

use super::Answer;
use crate::{
    Facts,
    state::{PartitionId, Shard},
};

impl Shard {
    /// The reads that tell when the oldest waiting message of a subscription was due: what was
    /// given back has its position in memory, what was never leased is looked up.
    fn oldest_reads(&self, id: PartitionId, number: SubscriptionNumber) -> Vec<Read> {
        let Some(subscription) = self.subscription(id, number) else { return Vec::new() };
        let read = |(lane, reader): (&Lane, &crate::state::Reader)| {
            let timeline: TimelineId = id.lane(*lane);
            let line = self.timeline(timeline)?.line.offset;
            let offset = reader.acks.first_unsettled(reader.cursor);
            (reader.returned.is_empty() && offset < line).then_some(Read::AtOffset { timeline, offset, limit: 1 })
        };
        subscription.readers.iter().filter_map(read).collect()
    }

    pub(super) fn stats_reads(&self, id: PartitionId, facts: &Facts, wanted: &mut Vec<Read>) {
        let numbers = self.partitions.get(&id).into_iter().flat_map(|partition| partition.subscriptions.keys());
        for read in numbers.flat_map(|number| self.oldest_reads(id, *number)) {
            facts.want(wanted, read);
        }
    }

    pub(super) fn stats(&self, id: PartitionId, facts: &Facts) -> Answer {
        let Some(mut stats) = self.partition_stats(id) else { return Answer::Gone };
        for counted in &mut stats.subscriptions {
            let returned = self.subscription(id, counted.subscription).into_iter().flat_map(|it| it.readers.values());
            let returned = returned.filter_map(|reader| reader.returned.values().next()).map(|position| position.due);
            let reads = self.oldest_reads(id, counted.subscription);
            let fresh = reads.iter().filter_map(|read| facts.records(read).first()).map(|record| record.position.due);
            counted.oldest_due = returned.chain(fresh).min();
        }
        Answer::Stats(stats)
    }
}
