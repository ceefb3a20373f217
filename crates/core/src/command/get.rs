//! Looking at one message.

use punctual_types::{MessageRef, Offset, Read, SubscriptionNumber, TimelineId};

use super::{
    Answer, MessageHandle,
    locate::{Outcome, Standing},
};
use crate::{
    Facts,
    format::MessageRecord,
    state::{PartitionId, Shard},
};

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMessage {
    /// Which one.
    pub message: MessageRef,
    /// What is stored.
    pub record: MessageRecord,
    /// Whether it is ahead of the line.
    pub scheduled: bool,
    /// How far each subscription has come with it, once it has crossed.
    pub subscriptions: Vec<SubscriptionProgress>,
}

/// How far a subscription has come with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionProgress {
    /// Which.
    pub subscription: SubscriptionNumber,
    /// Whether it is done with it.
    pub settled: bool,
    /// Whether a consumer has it.
    pub leased: bool,
    /// Deliveries so far at this place.
    pub attempts: u32,
}

impl Shard {
    fn stands_at(&self, id: PartitionId, handle: &MessageHandle, facts: &Facts) -> Option<Standing> {
        let entry = facts.entry(self.handle_place(id, handle));
        if entry.is_some_and(|entry| Outcome::of(&entry).is_gone()) {
            return None;
        }
        let standing = self.standing(id, handle, facts)?;
        let ahead = self.timeline(standing.timeline).is_some_and(|it| it.is_ahead(standing.position));
        if entry.is_some_and(|entry| self.is_forgotten(handle, &entry, ahead, self.meta.time)) {
            return None;
        }
        Some(standing)
    }

    pub(super) fn get_reads(&self, id: PartitionId, handle: &MessageHandle, facts: &Facts, wanted: &mut Vec<Read>) {
        self.locate_reads(id, handle, facts, wanted);
        if wanted.is_empty()
            && let Some(Standing { timeline, position, .. }) = self.stands_at(id, handle, facts)
            && self.timeline(timeline).is_some_and(|it| !it.is_ahead(position))
        {
            facts.want(wanted, Read::OffsetOf { timeline, position });
        }
    }

    pub(super) fn get(&self, id: PartitionId, handle: &MessageHandle, facts: &Facts) -> Answer {
        let found = self.stands_at(id, handle, facts).and_then(|Standing { message, timeline, position }| {
            let record = MessageRecord::decode(facts.record(timeline, position)?.clone()).ok()?;
            let scheduled = self.timeline(timeline)?.is_ahead(position);
            let offset = facts.offset(&Read::OffsetOf { timeline, position });
            let subscriptions = offset.map(|offset| self.progress(timeline, offset)).unwrap_or_default();
            Some(Box::new(FoundMessage { message, record, scheduled, subscriptions }))
        });
        Answer::Found(found)
    }

    fn progress(&self, id: TimelineId, offset: Offset) -> Vec<SubscriptionProgress> {
        let Some(partition) = self.partitions.get(&id.into()) else { return Vec::new() };
        let progress = |(number, subscription): (&SubscriptionNumber, &crate::state::Subscription)| {
            let reader = subscription.readers.get(&id.lane)?;
            let lease = reader.leases.get(&offset);
            let failed = reader.failures.get(&offset).map_or(0, |failure| failure.count);
            Some(SubscriptionProgress {
                subscription: *number,
                settled: reader.acks.is_settled(offset),
                leased: lease.is_some(),
                attempts: lease.map_or(failed, |lease| lease.attempt.0),
            })
        };
        partition.subscriptions.iter().filter_map(progress).collect()
    }
}
