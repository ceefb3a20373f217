//! Moving a subscription back or forward.

use punctual_types::{Offset, Position, Read, SubscriptionNumber, Time, TimelineId};

use super::Answer;
use crate::{
    Facts,
    format::StateKey,
    state::{PartitionId, Shard},
};

impl Shard {
    pub(super) fn first_due(&self, id: TimelineId, to: Time) -> Option<Read> {
        let timeline = self.timeline(id)?;
        let after = Position::before(to).max(timeline.floor.position);
        let to = timeline.line.position;
        (after < to).then_some(Read::Window { timeline: id, after, to, limit: 1, bytes_max: 1, values: false })
    }

    pub(super) fn first_due_reads(&self, id: TimelineId, to: Time, facts: &Facts, wanted: &mut Vec<Read>) {
        let Some(window) = self.first_due(id, to) else { return };
        facts.want(wanted, window);
        if let Some(first) = facts.records(&window).first() {
            facts.want(wanted, Read::OffsetOf { timeline: id, position: first.position });
        }
    }

    /// The offset of the first message behind the line that was due at or after a time; `None` when
    /// there is none.
    pub(super) fn offset_due_from(&self, id: TimelineId, to: Time, facts: &Facts) -> Option<Offset> {
        let window = self.first_due(id, to)?;
        let position = facts.records(&window).first()?.position;
        facts.offset(&Read::OffsetOf { timeline: id, position })
    }

    pub(super) fn seek_reads(&self, id: PartitionId, to: Option<Time>, facts: &Facts, wanted: &mut Vec<Read>) {
        let Some(to) = to else { return };
        for timeline in self.published_lanes(id) {
            self.first_due_reads(timeline, to, facts, wanted);
        }
    }

    /// The retry timeline is left alone: what is to be tried again was read once already.
    pub(super) fn seek(
        &mut self,
        id: PartitionId,
        number: SubscriptionNumber,
        to: Option<Time>,
        facts: &mut Facts,
    ) -> Answer {
        if self.subscription(id, number).is_none() {
            return Answer::Gone;
        }
        for timeline_id in self.published_lanes(id) {
            let Some(timeline) = self.timeline(timeline_id) else { continue };
            let offset = to.and_then(|to| self.offset_due_from(timeline_id, to, facts));
            let floor = offset.unwrap_or(timeline.line.offset).max(timeline.floor.offset);
            self.seek_reader(timeline_id, number, floor);
            self.look_again(timeline_id);
            self.follow_floor(facts, timeline_id);
        }
        Answer::Done
    }

    pub(super) fn seek_reader(&mut self, id: TimelineId, number: SubscriptionNumber, floor: Offset) {
        let Some(reader) = self.reader(id, number) else { return };
        let pieces: Vec<_> = reader.pieces(id, number).collect();
        self.forget_deadlines(id, number);
        self.pen.dirty.extend(pieces);
        self.pen.touch(StateKey::Reader(id, number));
        let began_at = self.meta.time;
        if let Some(reader) = self.reader_mut(id, number) {
            reader.seek(floor);
            reader.began_at = began_at;
        }
    }
}
