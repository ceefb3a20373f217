//! Where lines stand. Asking also waits for everything that was done before.

use punctual_types::{Lane, Position, TimelineId};

use super::Answer;
use crate::state::{PartitionId, Shard};

impl Shard {
    pub(super) fn line_answer(&self, timeline: TimelineId) -> Answer {
        let (line, floor) =
            self.timeline(timeline).map_or((Position::MIN, Position::MIN), |it| (it.line.position, it.floor.position));
        Answer::Line { line, floor, last_seq: self.meta.last_seq }
    }

    /// The timelines that messages of a partition are published to: one for each priority that was
    /// ever used.
    pub(super) fn published_lanes(&self, id: PartitionId) -> Vec<TimelineId> {
        let lanes = self.partitions.get(&id).into_iter().flat_map(|partition| partition.timelines.keys());
        lanes.filter(|lane| matches!(lane, Lane::Priority(_))).map(|lane| id.lane(*lane)).collect()
    }

    pub(super) fn lines(&self, id: PartitionId) -> Answer {
        let line = |timeline| self.line(timeline).map(|line| (timeline, line));
        let lines = self.published_lanes(id).into_iter().filter_map(line).collect();
        Answer::Lines { lines, last_seq: self.meta.last_seq }
    }
}
