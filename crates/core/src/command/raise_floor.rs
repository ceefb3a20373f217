//! Raising a floor to where its readers have come, once that is worth a read.

use punctual_types::{Mark, Now, Offset, Read, TimelineId};

use super::Answer;
use crate::{Facts, state::Shard};

impl Shard {
    fn last_unwanted(&self, id: TimelineId) -> Option<(Offset, Read)> {
        let wanted = self.partitions.get(&id.into())?.wanted_from(id.lane)?;
        let timeline = self.timeline(id)?;
        let last = Offset(wanted.min(timeline.line.offset).0.checked_sub(1)?);
        (last >= timeline.floor.offset).then_some((last, Read::AtOffset { timeline: id, offset: last, limit: 1 }))
    }

    pub(super) fn raise_floor_reads(&self, id: TimelineId, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        if self.keeping(id).is_some() {
            return self.raise_kept_floor_reads(id, now, facts, wanted);
        }
        if let Some((_, read)) = self.last_unwanted(id) {
            facts.want(wanted, read);
        }
    }

    pub(super) fn raise_floor_to_readers(&mut self, id: TimelineId, facts: &mut Facts, now: Now) -> Answer {
        self.agenda.floors.remove(&id);
        if let Some(keeping) = self.keeping(id) {
            return self.raise_kept_floor(id, keeping, facts, now);
        }
        let Some((last, read)) = self.last_unwanted(id) else { return Answer::Done };
        let Some(position) = facts.records(&read).first().map(|record| record.position) else { return Answer::Done };
        let mark = Mark { offset: last.next(), position };
        if let Some(timeline) = self.timeline_mut(id) {
            assert!(mark > timeline.floor, "the floor of {id:?} was to sink");
            timeline.floor = mark;
            self.raise_floor(facts, id, mark);
        }
        Answer::Done
    }
}
