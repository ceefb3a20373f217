//! What a failed delivery leads to: back to its place, to a retry, or to the dead letters.

use punctual_types::{Lane, MessageRef, Now, Position, Read, SubscriptionNumber, Time, Write};

use super::{
    LeasePlace,
    locate::{Outcome, Standing},
    publish::kept_after,
};
use crate::{
    Facts,
    format::{DeadLetter, LetterSource, MessageRecord, StateKey},
    state::{Lease, LeaseEnd, Parked, PartitionId, Shard, TransferItem},
};

/// What a dead letter tells of how it came to be one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter<'a> {
    /// Why it was given up, as [`DeadLetter::reason`].
    pub(super) reason: u8,
    pub(super) attempts: u32,
    pub(super) first_delivered_at: Option<Time>,
    /// The consumer's words; without any, those of an earlier failure.
    pub(super) error: Option<&'a str>,
}

impl Shard {
    /// Whether a lease is the last that its subscription allows the message.
    pub(super) fn is_last_attempt(&self, (timeline, number, offset): LeasePlace) -> bool {
        let Some(subscription) = self.subscription(timeline.into(), number) else { return false };
        let lease = subscription.readers.get(&timeline.lane).and_then(|reader| reader.leases.get(&offset));
        lease.is_some_and(|lease| lease.attempt.0 >= subscription.rules.retry.max_attempts)
    }

    /// The read of a leased message's record.
    pub(super) fn record_read(&self, (timeline, number, offset): LeasePlace) -> Option<Read> {
        let position = self.reader(timeline, number)?.leases.get(&offset)?.position;
        Some(Read::Record { timeline, position })
    }

    /// A lease that ended by itself, or whose consumer is lost: the attempt counts, and the message
    /// goes back to its place, or to the dead letters after its last.
    pub(super) fn fail_in_place(&mut self, place: LeasePlace, facts: &mut Facts, now: Now) {
        let (timeline, number, offset) = place;
        let last = self.is_last_attempt(place);
        let Some(lease) = self.end_lease(timeline, number, offset) else { return };
        self.count_failed(place, lease.serial, now);
        if self.lapse_ended(place, &lease, None, facts, now).is_some()
            || (last && self.dead_letter(place, &lease, None, facts, now))
        {
            return;
        }
        let Some(reader) = self.reader_mut(timeline, number) else { return };
        reader.returned.insert(offset, lease.position);
        let failure = reader.failures.entry(offset).or_default();
        failure.count += 1;
        failure.first_delivered_at = lease.first_delivered_at;
        failure.not_before = None;
        self.pen.touch(StateKey::Failure(timeline, number, offset));
    }

    /// Holds a failed message back at its own place until it may be tried again, so that nothing of
    /// its ordering key overtakes it.
    pub(super) fn park(
        &mut self,
        (timeline, number, offset): LeasePlace,
        lease: &Lease,
        not_before: Time,
        error: Option<&str>,
        now: Now,
    ) {
        let Some(subscription) = self.subscription_mut(timeline.into(), number) else { return };
        subscription.totals.retried += 1;
        let Some(reader) = subscription.readers.get_mut(&timeline.lane) else { return };
        let failure = reader.failures.entry(offset).or_default();
        failure.count += 1;
        failure.first_delivered_at = lease.first_delivered_at;
        failure.not_before = Some(not_before);
        failure.last_error = error.map(str::to_owned).or(failure.last_error.take());
        if not_before > now.floor {
            reader.parked.insert(offset, Parked { not_before, position: Some(lease.position) });
            self.agenda.parked.insert(LeaseEnd { at: not_before, timeline, subscription: number, offset });
        } else {
            reader.returned.insert(offset, lease.position);
        }
        self.pen.touch(StateKey::Failure(timeline, number, offset));
    }

    pub(super) fn count_failed(&mut self, (timeline, number, _): LeasePlace, serial: u64, now: Now) {
        let partition = PartitionId::from(timeline);
        if let Some(subscription) = self.subscription_mut(partition, number) {
            subscription.totals.failed += 1;
            let opened = subscription.rules.breaker.and_then(|rules| subscription.breaker.failed(serial, &rules, now));
            self.agenda.resumes.extend(opened.map(|until| (until, partition, number)));
        }
        self.pen.touch(StateKey::SubscriptionTotals(timeline.topic, timeline.partition, number));
    }

    /// Settles a message whose lease was just ended and writes a copy with its history to the
    /// dead-letter topic, in one batch. `false` when the record cannot be read: then nothing is done.
    pub(super) fn dead_letter(
        &mut self,
        (timeline, number, offset): LeasePlace,
        lease: &Lease,
        error: Option<&str>,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        let at_its_place = self.reader(timeline, number).and_then(|reader| reader.failures.get(&offset));
        let last_error = error.map(str::to_owned).or(at_its_place.and_then(|failure| failure.last_error.clone()));
        let record = facts.record(timeline, lease.position).cloned();
        let Some(record) = record.and_then(|bytes| MessageRecord::decode(bytes).ok()) else { return false };
        let letter = Letter {
            reason: DeadLetter::ATTEMPTS_EXHAUSTED,
            attempts: lease.attempt.0,
            first_delivered_at: Some(lease.first_delivered_at),
            error: last_error.as_deref(),
        };
        if !self.send_letter(timeline.into(), number, record, letter, facts, now) {
            return false;
        }
        self.settle(timeline, number, offset, None);
        self.follow_floor(facts, timeline);
        true
    }

    /// Writes a subscription's dead letter. `false` when there is no place for it: then nothing is done.
    pub(super) fn send_letter(
        &mut self,
        partition: PartitionId,
        number: SubscriptionNumber,
        mut record: MessageRecord,
        letter: Letter<'_>,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        let Some(place) = self.subscription(partition, number).map(|it| it.rules.dead_letters) else { return false };
        let target = place.partition_for(partition.partition);
        let shard = place.shard(target, self.config.shards);
        // Without a place for it the letter would be lost: then it stays where it is. Of another
        // shard's places the catalog alone knows.
        if shard == self.config.number && !self.partitions.contains_key(&target) {
            return false;
        }
        let Some(subscription) = self.subscription_mut(partition, number) else { return false };
        subscription.totals.dead += 1;
        let name = subscription.rules.name.clone();
        let topic = self.partitions.get(&partition).and_then(|it| it.rules.as_ref()).map(|rules| rules.name.clone());
        record.dead_letter = Some(DeadLetter {
            reason: letter.reason,
            topic: topic.as_deref().unwrap_or_default().to_owned(),
            subscription: name.to_string(),
            attempts: letter.attempts,
            first_delivered_at: letter.first_delivered_at,
            last_error: letter.error.map(str::to_owned).or(record.last_error.take()),
            from: Some(LetterSource { partition, subscription: number }),
        });
        // Where it lies now it starts over: its readers there count their own attempts, and it waits for
        // them without a time of its own.
        record.attempts = 0;
        record.first_delivered_at = None;
        record.expires_after = None;
        if shard == self.config.number {
            self.put_letter(target, &record, now.floor, facts, now);
        } else {
            let (timeline, record) = (target.lane(Lane::MAIN), record.encode());
            self.send(facts, shard, TransferItem::Record { timeline, due: now.floor, record }, now);
        }
        self.pen.touch(StateKey::SubscriptionTotals(partition.topic, partition.partition, number));
        true
    }

    /// Puts a letter into its topic; `false` when that is gone.
    pub(super) fn put_letter(
        &mut self,
        target: PartitionId,
        record: &MessageRecord,
        due: Time,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        if !self.partitions.contains_key(&target) {
            return false;
        }
        let position = self.insert(facts, target.lane(Lane::MAIN), due, |_| record.encode());
        self.remember_dead_letter(target, record.message, position, facts, now);
        true
    }

    /// Lets the dead-letter topic find the copy by the message's own id, and counts it there.
    pub(super) fn remember_dead_letter(
        &mut self,
        target: PartitionId,
        message: MessageRef,
        position: Position,
        facts: &mut Facts,
        now: Now,
    ) {
        let place = self.message_place(target, message);
        let standing = Standing { message, timeline: target.lane(Lane::MAIN), position };
        let entry = Outcome::Moved.entry(standing, now.floor, dead_letter_found_until(now.floor));
        self.pen.write(facts, Write::PutIndex { place, entry });
        if let Some(partition) = self.partitions.get_mut(&target) {
            partition.totals.published += 1;
        }
        self.pen.touch(StateKey::PartitionTotals(target.topic, target.partition));
    }
}

/// Until when a dead letter is found by its id in the dead-letter topic.
fn dead_letter_found_until(now: Time) -> Time {
    kept_after(now).saturating_add(super::locate::MOVED_KEPT)
}
