//! Keeping messages as long as their topic says, and no longer.
//!
//! `retention` ends what is older for everybody who is not done with it; `keep_acked` holds the floor back
//! so that what everybody is done with can be read again for a while. Both count from the due time, so a
//! timeline has one deadline for both: a lower bound of when its first kept record comes to it.

use punctual_types::{DelayMs, Lane, Mark, Now, Offset, Position, Read, SubscriptionNumber, Time, TimelineId, limits};

use super::Answer;
use crate::{
    Facts,
    format::{MessageRecord, StateKey},
    state::{Overdue, Shard, SubscriptionKind},
};

/// Bytes of records that a piece reads at most.
const PIECE_BYTES_MAX: u64 = 4 << 20;

impl Shard {
    /// Up to which position everything was due so long ago.
    fn due_before(&self, id: TimelineId, ago: DelayMs, now: Now) -> Option<Position> {
        let due = Time::from_unix_ms(now.floor.unix_ms().checked_sub(ago.ms())?)?;
        Some(Position::after(due).min(self.timeline(id)?.line.position))
    }

    fn first_after(&self, id: TimelineId, after: Position) -> Option<Read> {
        let to = self.timeline(id)?.line.position;
        (after < to).then_some(Read::Window { timeline: id, after, to, limit: 1, bytes_max: 1, values: false })
    }

    /// Where the next piece begins.
    fn retained_from(&self, id: TimelineId) -> Option<Mark> {
        self.timeline(id).map(|timeline| timeline.retained_to.max(timeline.floor))
    }

    fn outlived_window(&self, id: TimelineId, now: Now) -> Option<Read> {
        let to = self.due_before(id, self.retention(id)?, now)?;
        let after = self.retained_from(id)?.position;
        let (limit, bytes_max) = (limits::RETAIN_PIECE_MAX, PIECE_BYTES_MAX);
        (after < to).then_some(Read::Window { timeline: id, after, to, limit, bytes_max, values: true })
    }

    pub(super) fn retain_reads(&self, id: TimelineId, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        let window = self.outlived_window(id, now);
        if let Some(window) = window {
            facts.want(wanted, window);
        }
        let last = window.and_then(|window| facts.records(&window).last()).map(|record| record.position);
        let after = last.or(self.retained_from(id).map(|mark| mark.position));
        if let Some(next) = after.and_then(|after| self.first_after(id, after)) {
            facts.want(wanted, next);
        }
    }

    /// Ends the next piece of what a timeline has kept for long enough.
    pub(super) fn retain(&mut self, id: TimelineId, facts: &mut Facts, now: Now) -> Answer {
        let Some(mut passed) = self.retained_from(id) else { return Answer::Gone };
        let records = self.outlived_window(id, now).map(|window| facts.take_records(&window)).unwrap_or_default();
        for record in records {
            let offset = passed.offset;
            passed = Mark { offset: offset.next(), position: record.position };
            let lapsed = self.lapse(id, (offset, record.position), Some(&record.value), facts, now);
            let held = self.timeline_mut(id).and_then(|it| it.overdue.remove(&offset)).unwrap_or_default();
            // What nobody reads and has expired by its own time was counted then.
            let counted = held.counted || (lapsed.unread && has_expired(record.value, now));
            let unsettled = lapsed.unsettled || self.streams_at(id, offset).next().is_some();
            if unsettled && !counted {
                self.count_expired(id.into(), 1);
            }
            if lapsed.held_until.is_some() {
                self.note_overdue(id, offset, Overdue { counted: counted || unsettled, ..held });
            }
        }
        self.move_streams(id, passed.offset);
        let next = self.first_after(id, passed.position);
        let next = next.and_then(|next| facts.records(&next).first()).map(|record| record.position.due);
        let retention = self.retention(id);
        self.set_deadlines(id, |timeline| {
            timeline.retained_to = passed;
            timeline.retain_at = next.zip(retention).map(|(due, retention)| due.saturating_add(retention));
            timeline.keep_at = timeline.keep_at.filter(|at| *at > now.floor);
        });
        let unread = self.partitions.get(&id.into()).is_some_and(|it| it.wanted_from(id.lane).is_none());
        match self.timeline_mut(id).filter(|timeline| unread && passed > timeline.floor) {
            Some(timeline) => {
                timeline.floor = passed;
                self.raise_floor(facts, id, passed);
            }
            None => self.follow_floor(facts, id),
        }
        Answer::Done
    }

    /// Streams that have not committed past an offset.
    fn streams_at(&self, id: TimelineId, offset: Offset) -> impl Iterator<Item = (SubscriptionNumber, Offset)> + '_ {
        let subscriptions = self.partitions.get(&id.into()).into_iter().flat_map(|it| &it.subscriptions);
        let streams = subscriptions.filter(|(_, it)| it.rules.kind == SubscriptionKind::Stream);
        let floors = streams.filter_map(move |(number, it)| Some((*number, it.readers.get(&id.lane)?.acks.floor())));
        floors.filter(move |(_, floor)| *floor <= offset)
    }

    /// Moves streams past what is kept no longer.
    fn move_streams(&mut self, id: TimelineId, to: Offset) {
        let Some(last) = to.0.checked_sub(1).map(Offset) else { return };
        let behind: Vec<_> = self.streams_at(id, last).collect();
        for (number, floor) in behind {
            self.seek_reader(id, number, to);
            if let Some(subscription) = self.subscription_mut(id.into(), number) {
                subscription.totals.expired += to.0 - floor.0;
            }
            self.pen.touch(StateKey::SubscriptionTotals(id.topic, id.partition, number));
        }
    }

    fn retention(&self, id: TimelineId) -> Option<DelayMs> {
        matches!(id.lane, Lane::Priority(_)).then_some(())?;
        self.partitions.get(&id.into())?.rules.as_ref()?.retention
    }

    /// When a topic's retention ends for a published message that was due then.
    pub(super) fn retained_until(&self, id: TimelineId, due: Time) -> Option<Time> {
        due.checked_add(self.retention(id)?)
    }

    /// Has a timeline looked at again from its floor on: its topic's settings have changed, or somebody
    /// began to read it who is done with nothing.
    pub(super) fn look_again(&mut self, id: TimelineId) {
        let (retention, keeping) = (self.retention(id), self.keeping(id));
        self.set_deadlines(id, |timeline| {
            let holds_some = timeline.line.offset > timeline.floor.offset;
            let from = timeline.floor.position.due;
            timeline.retained_to = Mark::default();
            timeline.retain_at = retention.filter(|_| holds_some).map(|retention| from.saturating_add(retention));
            timeline.keep_at = keeping.filter(|_| holds_some).map(|keeping| from.saturating_add(keeping));
        });
    }

    /// Begins to count the retention of what crosses a line, when nothing was kept before.
    pub(super) fn retain_crossed(&mut self, id: TimelineId, first_due: Time) {
        let Some(retention) = self.retention(id) else { return };
        self.set_deadlines(id, |timeline| {
            timeline.retain_at = timeline.retain_at.or(Some(first_due.saturating_add(retention)));
        });
    }

    fn kept_window(&self, id: TimelineId, now: Now) -> Option<Read> {
        let timeline = self.timeline(id)?;
        let wanted = self.partitions.get(&id.into())?.wanted_from(id.lane)?;
        let rise = wanted.min(timeline.line.offset).0.checked_sub(timeline.floor.offset.0)?;
        let limit = u32::try_from(rise).unwrap_or(u32::MAX).min(limits::ADVANCE_RECORDS_MAX);
        let (after, to) = (timeline.floor.position, self.due_before(id, self.keeping(id)?, now)?);
        let window = Read::Window { timeline: id, after, to, limit, bytes_max: 1 << 20, values: false };
        (limit > 0 && after < to).then_some(window)
    }

    fn after_kept(&self, id: TimelineId, now: Now, facts: &Facts) -> Option<Read> {
        let records = self.kept_window(id, now).map(|window| facts.records(&window)).unwrap_or_default();
        let last = records.last().map(|record| record.position);
        self.first_after(id, last.unwrap_or(self.timeline(id)?.floor.position))
    }

    pub(super) fn raise_kept_floor_reads(&self, id: TimelineId, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        let window = self.kept_window(id, now);
        if let Some(window) = window {
            facts.want(wanted, window);
        }
        if window.is_none_or(|window| facts.knows(&window))
            && let Some(next) = self.after_kept(id, now, facts)
        {
            facts.want(wanted, next);
        }
    }

    /// Raises a floor that is held back for a while: over what its readers have passed and is old enough.
    pub(super) fn raise_kept_floor(&mut self, id: TimelineId, keeping: DelayMs, facts: &mut Facts, now: Now) -> Answer {
        let next = self.after_kept(id, now, facts).and_then(|next| facts.records(&next).first());
        let next = next.map(|record| record.position.due.saturating_add(keeping));
        let records = self.kept_window(id, now).map(|window| facts.take_records(&window)).unwrap_or_default();
        let Some(timeline) = self.timeline_mut(id) else { return Answer::Gone };
        if let Some(last) = records.last() {
            let offset = Offset(timeline.floor.offset.0 + records.len() as u64);
            timeline.floor = Mark { offset, position: last.position };
            let mark = timeline.floor;
            self.raise_floor(facts, id, mark);
        }
        self.set_deadlines(id, |timeline| timeline.keep_at = next.filter(|at| *at > now.floor));
        if records.len() >= limits::ADVANCE_RECORDS_MAX as usize {
            self.agenda.floors.insert(id);
        }
        Answer::Done
    }
}

fn has_expired(value: bytes::Bytes, now: Now) -> bool {
    MessageRecord::decode(value).ok().and_then(|record| record.expires_at()).is_some_and(|at| at <= now.floor)
}
