//! Expiring: marks come due on a timeline of their own, so that it happens at its time and not at the
//! queue's head.
//!
//! What has expired is never handed out, whatever has become of its mark (`lease`). The mark settles it
//! for everybody who is not done with it, and has it counted once. Who holds it may still ack it: then the
//! mark is put again, for when the first lease ends.

use punctual_types::{DelayMs, Lane, Mark, Now, Offset, Position, Read, SubscriptionNumber, Time, TimelineId, limits};

use super::{Answer, LeasePlace, fail::Letter};
use crate::{
    Facts,
    format::{DeadLetter, ExpiryMark, MessageRecord, StateKey},
    state::{Lease, OnExpiry, Overdue, PartitionId, Shard, SubscriptionKind},
};

/// Bytes of marks that a piece reads at most.
const PIECE_BYTES_MAX: u64 = 1 << 20;

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
    /// Inserts a message ahead of the line, and the mark of its expiry beside it.
    pub(crate) fn put_message(
        &mut self,
        facts: &mut Facts,
        id: TimelineId,
        due: Time,
        record: impl FnOnce(Position) -> MessageRecord,
    ) -> Position {
        let mut expires = None;
        let position = self.insert(facts, id, due, |position| {
            let record = record(position);
            // A prepared message expires only once it is one.
            let expires_at = record.expires_at().filter(|_| id.lane != Lane::Check);
            expires = expires_at.map(|at| (at, record.message));
            record.encode()
        });
        if let Some((at, message)) = expires {
            self.put_mark(facts, id.into(), at, ExpiryMark { message, position, lane: id.lane, counted: false });
        }
        position
    }

    fn put_mark(&mut self, facts: &mut Facts, id: PartitionId, at: Time, mark: ExpiryMark) -> Position {
        self.insert(facts, id.lane(Lane::Expiry), at, |_| mark.encode())
    }

    fn marks_window(&self, id: TimelineId, now: Now) -> Option<Read> {
        let after = self.timeline(id)?.line.position;
        let to = Position::after(now.floor);
        let (limit, bytes_max) = (limits::EXPIRE_PIECE_MAX, PIECE_BYTES_MAX);
        (after < to).then_some(Read::Window { timeline: id, after, to, limit, bytes_max, values: true })
    }

    pub(super) fn expire_reads(&self, id: TimelineId, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        let Some(window) = self.marks_window(id, now) else { return };
        facts.want(wanted, window);
        let marks = facts.records(&window);
        if facts.knows(&window) && (marks.len() as u64) < self.timeline(id).map_or(0, |it| it.scheduled) {
            facts.want(wanted, Self::next_window(id, now));
        }
        let needs_records = self.on_expiry(id.into()) == OnExpiry::DeadLetter || self.has_filters(id.into());
        for mark in marks.iter().filter_map(|stored| ExpiryMark::decode(stored.value.clone()).ok()) {
            let (timeline, position) = (PartitionId::from(id).lane(mark.lane), mark.position);
            let Some(target) = self.timeline(timeline) else { continue };
            let ahead = target.is_ahead(position);
            if !ahead {
                facts.want(wanted, Read::OffsetOf { timeline, position });
            }
            if ahead || (needs_records && facts.offset(&Read::OffsetOf { timeline, position }).is_some()) {
                facts.want(wanted, Read::Record { timeline, position });
            }
        }
    }

    /// Takes the next piece of the marks that are due.
    pub(super) fn expire(&mut self, id: TimelineId, facts: &mut Facts, now: Now) -> Answer {
        let Some(window) = self.marks_window(id, now) else { return Answer::Done };
        let marks = facts.take_records(&window);
        let full = marks.len() >= limits::EXPIRE_PIECE_MAX as usize;
        let scheduled = self.timeline(id).map_or(0, |it| it.scheduled);
        let mut blocked_on = None;
        let mut passed = Vec::with_capacity(marks.len());
        for stored in marks {
            // A mark that cannot be read says nothing: what it meant is not handed out all the same.
            if let Ok(mark) = ExpiryMark::decode(stored.value)
                && let Err(waits_for) = self.expire_one(id.into(), mark, facts, now)
            {
                blocked_on = Some((stored.position.due, waits_for));
                break;
            }
            passed.push(stored.position);
        }
        let next = facts.records(&Self::next_window(id, now)).first().map(|record| record.position.due);
        self.pass_over(facts, id, &passed);
        let Some(timeline) = self.partitions.get_mut(&id.into()).and_then(|it| it.timelines.get_mut(&id.lane)) else {
            return Answer::Gone;
        };
        timeline.blocked_on = blocked_on.map(|(_, seq)| seq);
        let soon = now.floor.saturating_add(DelayMs::from_ms(1));
        let next_due = match blocked_on {
            Some((due, _)) => Some(due),
            None if timeline.scheduled == 0 => None,
            None if full => Some(now.floor),
            // Marks were put again meanwhile, none of them before the next millisecond.
            None if timeline.scheduled + passed.len() as u64 > scheduled => Some(soon),
            None => Some(next.unwrap_or(soon)),
        };
        self.agenda.set_due(id, &mut timeline.next_due, next_due);
        Answer::Done
    }

    /// Moves a hidden timeline's line over records that were dealt with. They are dropped at once.
    pub(super) fn pass_over(&mut self, facts: &mut Facts, id: TimelineId, passed: &[Position]) {
        if let Some(last) = passed.last() {
            self.move_line(facts, id, *last, passed.len() as u64);
        }
    }

    /// Moves a hidden timeline's line, past so many records that are still counted.
    pub(super) fn move_line(&mut self, facts: &mut Facts, id: TimelineId, last: Position, passed: u64) {
        let Some(timeline) = self.timeline_mut(id) else { return };
        assert!(timeline.scheduled >= passed, "more of {id:?} came due than it holds");
        timeline.line = Mark { offset: Offset(timeline.line.offset.0 + passed), position: last };
        timeline.floor = timeline.line;
        timeline.scheduled -= passed;
        let mark = timeline.floor;
        self.raise_floor(facts, id, mark);
    }

    /// Does what a mark says. `Err` when the message has yet to cross its line, which it is about to:
    /// with the number that must be durable for that.
    fn expire_one(
        &mut self,
        id: PartitionId,
        mark: ExpiryMark,
        facts: &mut Facts,
        now: Now,
    ) -> Result<(), punctual_types::Seq> {
        let (timeline, position) = (id.lane(mark.lane), mark.position);
        let Some(target) = self.timeline(timeline) else { return Ok(()) };
        if target.is_ahead(position) {
            return match facts.record(timeline, position) {
                None => Ok(()),
                Some(_) if position.due <= now.floor => Err(position.seq),
                // A retry that would come too late.
                Some(_) => {
                    self.expire_ahead(timeline, mark, facts, now);
                    Ok(())
                }
            };
        }
        let Some(offset) = facts.offset(&Read::OffsetOf { timeline, position }) else { return Ok(()) };
        let lapsed = self.lapse(timeline, (offset, position), None, facts, now);
        let held = self.timeline_mut(timeline).and_then(|it| it.overdue.remove(&offset));
        let mut counted = mark.counted || held.is_some_and(|it| it.counted);
        if lapsed.unsettled && !counted {
            self.count_expired(id, 1);
            counted = true;
        }
        if lapsed.unread {
            self.pass_unread(facts, timeline, offset, position);
        }
        if let Some(until) = lapsed.held_until {
            let at = until.max(now.floor.saturating_add(DelayMs::from_ms(1)));
            let again = self.put_mark(facts, id, at, ExpiryMark { counted, ..mark });
            self.note_overdue(timeline, offset, Overdue { counted, mark: Some((again, mark.message)) });
        }
        Ok(())
    }

    /// Lets the floor of a timeline that nobody reads follow over what has expired right above it.
    fn pass_unread(&mut self, facts: &mut Facts, id: TimelineId, offset: Offset, position: Position) {
        let Some(timeline) = self.timeline_mut(id).filter(|it| it.floor.offset == offset) else { return };
        timeline.floor = Mark { offset: offset.next(), position };
        let mark = timeline.floor;
        self.raise_floor(facts, id, mark);
    }

    /// Expires what is to be tried again only after it has expired.
    fn expire_ahead(&mut self, id: TimelineId, mark: ExpiryMark, facts: &mut Facts, now: Now) {
        let Lane::Retry(number) = id.lane else { return };
        let stored = facts.record(id, mark.position).cloned();
        self.remove(facts, id, mark.position);
        if let Some(record) = stored.and_then(|bytes| MessageRecord::decode(bytes).ok()) {
            self.send_expired(id.into(), number, record, facts, now);
        }
        self.count_expired_for(id.into(), number);
        self.count_expired(id.into(), 1);
    }

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
    fn send_expired(
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

    fn has_filters(&self, id: PartitionId) -> bool {
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
    fn count_expired_for(&mut self, id: PartitionId, number: SubscriptionNumber) {
        if let Some(subscription) = self.subscription_mut(id, number) {
            subscription.totals.expired += 1;
        }
        self.pen.touch(StateKey::SubscriptionTotals(id.topic, id.partition, number));
    }
}
