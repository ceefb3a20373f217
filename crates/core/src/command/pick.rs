//! Deciding over a message that a reader has come to: whether it goes, and handing it out.

use punctual_types::{Attempt, Lane, Now, Offset, Position, Record, SubscriptionNumber, Time, TimelineId};

use super::lease::{Delivered, LeaseTo, Leased};
use crate::{
    Facts,
    format::MessageRecord,
    state::{Lease, LeaseEnd, LeaseRef, Probe, Shard, Turn},
};

/// What becomes of it.
pub(super) enum Pick {
    /// It goes to the consumer.
    Goes(Box<MessageRecord>),
    /// It does not: it was settled, passed over, set aside, or has to wait.
    Stays,
    /// The reader must stop before it.
    Stops,
}

impl Shard {
    /// Decides over the message at an offset.
    #[expect(clippy::too_many_arguments, reason = "one step of `lease`, taken apart for its length")]
    pub(super) fn pick(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        offset: Offset,
        stored: Record,
        leased: &mut Leased,
        facts: &mut Facts,
        now: Now,
    ) -> Pick {
        let hash = self.config.hash;
        let Some(partition) = self.partitions.get_mut(&id.into()) else { return Pick::Stops };
        let retention = partition.rules.as_ref().and_then(|rules| rules.retention);
        let Some(subscription) = partition.subscriptions.get_mut(&number) else { return Pick::Stops };
        let Some(reader) = subscription.readers.get_mut(&id.lane) else { return Pick::Stops };
        let before = (reader.cursor, reader.cursor_position);
        if offset >= reader.cursor {
            reader.cursor = offset.next();
            reader.cursor_position = Some(stored.position);
        }
        if reader.acks.is_settled(offset) {
            return Pick::Stays;
        }
        let position: Position = stored.position;
        let record = match MessageRecord::decode(stored.value) {
            Ok(record) => record,
            Err(error) => {
                reader.returned.remove(&offset);
                reader.damaged.insert(offset, position);
                leased.damaged.push((offset, error));
                return Pick::Stays;
            }
        };
        if !subscription.rules.wants(id.lane, &record) {
            self.settle(id, number, offset, None);
            leased.passed_over += 1;
            return Pick::Stays;
        }
        let lapses_at = record.expires_at();
        let kept_until = retention.and_then(|retention| kept_from(&record, position, id).checked_add(retention));
        if [lapses_at, kept_until].into_iter().flatten().any(|at| at <= now.floor) {
            reader.returned.remove(&offset);
            self.pass_lapsed(id, number, offset, record, facts, now);
            return Pick::Stays;
        }
        if let Some(key) = record.ordering_key.as_ref().filter(|_| subscription.rules.ordered) {
            match reader.order.enter(hash.of(key.as_bytes()), offset, position) {
                Turn::Goes => {}
                Turn::Waits => return Pick::Stays,
                Turn::Full => {
                    (reader.cursor, reader.cursor_position) = before;
                    return Pick::Stops;
                }
            }
        }
        if let Some(parked) = reader.parked.get_mut(&offset) {
            parked.position = Some(position);
            return Pick::Stays;
        }
        Pick::Goes(Box::new(record))
    }

    /// Makes a lease of a message and delivers it.
    #[expect(clippy::too_many_arguments, reason = "one step of `lease`, taken apart for its length")]
    pub(super) fn hand_out(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        (offset, position): (Offset, Position),
        mut record: MessageRecord,
        to: &LeaseTo,
        leased: &mut Leased,
        now: Now,
    ) {
        let epoch = self.meta.epoch;
        let Some(partition) = self.partitions.get_mut(&id.into()) else { return };
        let Some(timeline) = partition.timelines.get(&id.lane) else { return };
        let Some(subscription) = partition.subscriptions.get_mut(&number) else { return };
        let lease_ms = to.lease.unwrap_or(subscription.rules.lease);
        let Some(reader) = subscription.readers.get_mut(&id.lane) else { return };
        let lapses_at = record.expires_at();
        let failure = reader.failures.get(&offset).cloned().unwrap_or_default();
        record.last_error = failure.last_error.or(record.last_error);
        let attempt = Attempt(record.attempts.saturating_add(failure.count).saturating_add(1));
        let failed_before = (failure.count > 0).then_some(failure.first_delivered_at);
        let first_delivered_at = record.first_delivered_at.or(failed_before).unwrap_or(now.floor);
        self.last_lease += 1;
        let serial = self.last_lease;
        let expires_at = now.ceil.saturating_add(lease_ms);
        let lease =
            Lease { serial, consumer: to.consumer, attempt, position, expires_at, first_delivered_at, lapses_at };
        reader.lease(offset, lease);
        subscription.breaker.sent(Probe { lane: id.lane, offset, serial }, now.floor);
        subscription.count_held(to.consumer);
        self.pen.changed.insert(id.into());
        self.agenda.lease_ends.insert(LeaseEnd { at: expires_at, timeline: id, subscription: number, offset });
        leased.deliveries.push(Delivered {
            lease: LeaseRef { timeline: id, subscription: number, offset, epoch, serial },
            attempt,
            record,
            due: position.due,
            offered_at: timeline.crossings.crossed_at(offset).unwrap_or(position.due),
            expires_at,
        });
    }
}

/// From when on a topic's retention counts: a retry is as old as its message.
fn kept_from(record: &MessageRecord, position: Position, id: TimelineId) -> Time {
    match id.lane {
        Lane::Retry(_) => record.deliver_at,
        Lane::Priority(_) | Lane::Expiry | Lane::Check | Lane::Outgoing(_) => position.due,
    }
}
