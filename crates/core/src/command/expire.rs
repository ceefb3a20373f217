//! Expiring: marks come due on a timeline of their own, so that it happens at its time and not at the
//! queue's head.
//!
//! What has expired is never handed out, whatever has become of its mark (`lapse`). The mark settles it
//! for everybody who is not done with it, and has it counted once. Who holds it may still ack it: then the
//! mark is put again, for when the first lease ends.

use punctual_types::{DelayMs, Lane, Mark, Now, Offset, Position, Read, Time, TimelineId, limits};

use super::Answer;
use crate::{
    Facts,
    format::{ExpiryMark, MessageRecord},
    state::{OnExpiry, Overdue, PartitionId, Shard},
};

/// Bytes of marks that a piece reads at most.
const PIECE_BYTES_MAX: u64 = 1 << 20;

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

    pub(super) fn put_mark(&mut self, facts: &mut Facts, id: PartitionId, at: Time, mark: ExpiryMark) -> Position {
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
}
