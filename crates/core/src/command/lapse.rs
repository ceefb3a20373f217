//! What has come to its end, by its own time or by its topic's retention: for whom, and how it is counted.

use punctual_types::{Lane, Now, Offset, Position, Read, SubscriptionNumber, Time, TimelineId};

use super::{LeasePlace, fail::Letter};
use crate::{
    Facts,
    format::{DeadLetter, ExpiryMark, MessageRecord, StateKey},
    state::{Lease, OnExpiry, Overdue, PartitionId, Shard, SubscriptionKind},
};

/// What became of a message that came to its end behind the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lapsed {
    /// Whether somebody was not done with it, or nobody reads it at all.
    pub(super) unsettled: bool,
    /// Whether nobody reads its timeline.
    pub(super) unread: bool,
    /// When the first lease of it ends: who holds it may still ack it.
    pub(super) held_until: Option<Time>,
}

impl Shard {
    /// Settles what came to its end for everybody who is not done with it and does not hold it. `stored`
    /// is the record, where the caller has it; otherwise the facts may.
    pub(super) fn lapse(
        &mut self,
        id: TimelineId,
        (offset, position): (Offset, Position),
        stored: Option<&bytes::Bytes>,
        facts: &mut Facts,
        now: Now,
    ) -> Lapsed {
        let mut lapsed = Lapsed { unsettled: true, unread: true, held_until: None };
        let record = stored.cloned().or_else(|| facts.record(id, position).cloned());
        let record = record.and_then(|bytes| MessageRecord::decode(bytes).ok());
        let Some(partition) = self.partitions.get(&id.into()) else { return lapsed };
        let (mut open, mut wanted) = (Vec::new(), false);
        for (number, subscription) in &partition.subscriptions {
            let Some(reader) = subscription.readers.get(&id.lane) else { continue };
            lapsed.unread = false;
            // A stream is a log: what expires stays in it, and only retention ends it.
            if subscription.rules.kind == SubscriptionKind::Stream {
                continue;
            }
            match reader.leases.get(&offset) {
                _ if reader.acks.is_settled(offset) => {}
                Some(lease) => {
                    lapsed.held_until = Some(lapsed.held_until.map_or(lease.expires_at, |at| at.min(lease.expires_at)));
                }
                None => {
                    wanted |= record.as_ref().is_none_or(|record| subscription.rules.wants(id.lane, record));
                    open.push(*number);
                }
            }
        }
        lapsed.unsettled = lapsed.unread || wanted;
        for number in &open {
            let record = record.clone().map(|record| self.with_failures(id, *number, offset, record));
            self.expire_for(id, *number, offset, record, facts, now);
        }
        if !open.is_empty() {
            self.follow_floor(facts, id);
        }
        lapsed
    }

    /// Settles an expired message for one subscription, which does not hold it. Answers whether it went to
    /// the dead letters.
    pub(super) fn expire_for(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        offset: Offset,
        record: Option<MessageRecord>,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        let Some(subscription) = self.subscription_mut(id.into(), number) else { return false };
        if record.as_ref().is_some_and(|record| !subscription.rules.wants(id.lane, record)) {
            subscription.totals.filtered += 1;
            self.pen.touch(StateKey::SubscriptionTotals(id.topic, id.partition, number));
            self.settle(id, number, offset, None);
            return false;
        }
        let Some(reader) = subscription.readers.get(&id.lane) else { return false };
        // Who began after it had expired was never to get it, nor a letter of it.
        let began_later = record.as_ref().and_then(MessageRecord::expires_at).is_some_and(|at| at <= reader.began_at);
        let sent =
            !began_later && record.is_some_and(|record| self.send_expired(id.into(), number, record, facts, now));
        self.settle(id, number, offset, None);
        self.count_expired_for(id.into(), number);
        sent
    }

    /// Writes the letter of an expired message, where the topic asks for that.
    pub(super) fn send_expired(
        &mut self,
        id: PartitionId,
        number: SubscriptionNumber,
        record: MessageRecord,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        let letter = Letter {
            reason: DeadLetter::EXPIRED,
            attempts: record.attempts,
            first_delivered_at: record.first_delivered_at,
            error: None,
        };
        self.on_expiry(id) == OnExpiry::DeadLetter && self.send_letter(id, number, record, letter, facts, now)
    }

    /// Passes over what has expired instead of handing it out. What settles it for everybody is on its way
    /// (a mark, or the topic's retention), and counts it; only what had expired before this subscription
    /// began has nothing on its way, and a retry that its topic's retention no longer keeps.
    pub(super) fn pass_lapsed(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        offset: Offset,
        record: MessageRecord,
        facts: &mut Facts,
        now: Now,
    ) {
        let Some(reader) = self.reader(id, number) else { return };
        let marks = self.timeline(PartitionId::from(id).lane(Lane::Expiry)).and_then(|it| it.next_due);
        let marks_are_done = marks.is_none_or(|next| next > now.floor);
        let is_over = match record.expires_at().filter(|at| *at <= now.floor) {
            Some(at) => at <= reader.began_at && marks_are_done,
            None => matches!(id.lane, Lane::Retry(_)),
        };
        if !is_over {
            return;
        }
        if matches!(id.lane, Lane::Retry(_)) {
            self.count_expired(id.into(), 1);
        }
        let record = self.with_failures(id, number, offset, record);
        self.expire_for(id, number, offset, Some(record), facts, now);
        self.follow_floor(facts, id);
    }

    /// A record with what failed at its place.
    fn with_failures(
        &self,
        id: TimelineId,
        number: SubscriptionNumber,
        offset: Offset,
        mut record: MessageRecord,
    ) -> MessageRecord {
        if let Some(failure) = self.reader(id, number).and_then(|reader| reader.failures.get(&offset)) {
            record.attempts = record.attempts.saturating_add(failure.count);
            record.first_delivered_at = record.first_delivered_at.or(Some(failure.first_delivered_at));
            record.last_error = failure.last_error.clone().or(record.last_error);
        }
        record
    }

    pub(super) fn has_filters(&self, id: PartitionId) -> bool {
        let partition = self.partitions.get(&id);
        partition.is_some_and(|it| it.subscriptions.values().any(|subscription| subscription.rules.filter.is_some()))
    }

    pub(super) fn on_expiry(&self, id: PartitionId) -> OnExpiry {
        let rules = self.partitions.get(&id).and_then(|partition| partition.rules.as_ref());
        rules.map_or(OnExpiry::Drop, |rules| rules.on_expiry)
    }

    /// When a leased message comes to its end, by its own time or its topic's retention.
    fn lapses_at(&self, timeline: TimelineId, lease: &Lease) -> Option<Time> {
        [lease.lapses_at, self.retained_until(timeline, lease.position.due)].into_iter().flatten().min()
    }

    /// Whether what a lease holds has expired: then it does not become ready again.
    pub(super) fn has_lapsed(&self, (timeline, number, offset): LeasePlace, now: Now) -> bool {
        let lease = self.reader(timeline, number).and_then(|reader| reader.leases.get(&offset));
        lease.and_then(|lease| self.lapses_at(timeline, lease)).is_some_and(|at| at <= now.floor)
    }

    /// The read of a leased message's record, if what follows the end of its lease needs that: for its
    /// last attempt (`failed`) and when it has expired meanwhile.
    pub(super) fn ending_reads(
        &self,
        place: LeasePlace,
        failed: bool,
        now: Now,
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        let letters = self.on_expiry(place.0.into()) == OnExpiry::DeadLetter;
        if ((failed && self.is_last_attempt(place)) || (letters && self.has_lapsed(place, now)))
            && let Some(read) = self.record_read(place)
        {
            facts.want(wanted, read);
        }
    }

    /// Ends for its subscription what a lease that was just ended held, if it has expired: `None` when it
    /// has not, else whether it went to the dead letters.
    pub(super) fn lapse_ended(
        &mut self,
        (timeline, number, offset): LeasePlace,
        lease: &Lease,
        error: Option<&str>,
        facts: &mut Facts,
        now: Now,
    ) -> Option<bool> {
        self.lapses_at(timeline, lease).filter(|at| *at <= now.floor)?;
        let record = facts.record(timeline, lease.position).cloned();
        let record = record.and_then(|bytes| MessageRecord::decode(bytes).ok()).map(|mut record| {
            record.attempts = lease.attempt.0;
            record.first_delivered_at = Some(lease.first_delivered_at);
            record.last_error = error.map(str::to_owned).or(record.last_error.take());
            record
        });
        let sent = self.expire_for(timeline, number, offset, record, facts, now);
        self.count_overdue(timeline, offset, lease.position, facts);
        self.follow_floor(facts, timeline);
        Some(sent)
    }

    /// Counts a message whose lease has ended after its time, unless that was done already; and has its
    /// mark know of it.
    fn count_overdue(&mut self, id: TimelineId, offset: Offset, position: Position, facts: &mut Facts) {
        let held = self.timeline_mut(id).and_then(|it| it.overdue.remove(&offset)).unwrap_or_default();
        let mut noted = Overdue { counted: true, ..held };
        if !held.counted {
            self.count_expired(id.into(), 1);
            if let Some((place, message)) = held.mark {
                self.remove(facts, PartitionId::from(id).lane(Lane::Expiry), place);
                let mark = ExpiryMark { message, position, lane: id.lane, counted: true };
                noted.mark = Some((self.put_mark(facts, id.into(), place.due, mark), message));
            }
        }
        self.note_overdue(id, offset, noted);
    }

    pub(super) fn note_overdue(&mut self, id: TimelineId, offset: Offset, noted: Overdue) {
        if let Some(timeline) = self.timeline_mut(id) {
            timeline.overdue.insert(offset, noted);
        }
    }

    /// Counts messages that expired, each once whoever they expired for.
    pub(super) fn count_expired(&mut self, id: PartitionId, messages: u64) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.totals.expired += messages;
        }
        self.pen.touch(StateKey::PartitionTotals(id.topic, id.partition));
    }

    /// Counts a message that expired for a subscription.
    pub(super) fn count_expired_for(&mut self, id: PartitionId, number: SubscriptionNumber) {
        if let Some(subscription) = self.subscription_mut(id, number) {
            subscription.totals.expired += 1;
        }
        self.pen.touch(StateKey::SubscriptionTotals(id.topic, id.partition, number));
    }
}
