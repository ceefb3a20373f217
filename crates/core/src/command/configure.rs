//! Telling a partition its topic's settings, and forgetting it.

use punctual_types::{Mark, Position, Write};

use super::Answer;
use crate::{
    Facts,
    format::StateKey,
    state::{PartitionId, Shard, TopicRules},
};

impl Shard {
    pub(super) fn configure(&mut self, id: PartitionId, rules: TopicRules, facts: &mut Facts) -> Answer {
        let partition = self.partitions.entry(id).or_default();
        let keeping = rules.keeping();
        let before = partition.rules.replace(rules);
        let lanes: Vec<_> = partition.timelines.keys().copied().collect();
        for timeline in lanes.into_iter().map(|lane| id.lane(lane)) {
            self.look_again(timeline);
            // What was kept for longer than it now is to be may go.
            if before.as_ref().is_some_and(|before| before.keeping() != keeping) {
                self.follow_floor(facts, timeline);
            }
        }
        Answer::Done
    }

    /// Drops a partition: the floors of its timelines go past everything, and since topic numbers
    /// are never reused nothing will ever lie there again.
    pub(super) fn delete_partition(&mut self, id: PartitionId, facts: &mut Facts) -> Answer {
        let Some(partition) = self.partitions.get(&id) else { return Answer::Done };
        let subscriptions: Vec<_> = partition.subscriptions.keys().copied().collect();
        for subscription in subscriptions {
            self.unsubscribe(id, subscription, facts);
        }
        let Some(mut partition) = self.partitions.remove(&id) else { return Answer::Done };
        for (lane, timeline) in &mut partition.timelines {
            let timeline_id = id.lane(*lane);
            self.agenda.set_due(timeline_id, &mut timeline.next_due, None);
            self.agenda.floors.remove(&timeline_id);
            if let Some(at) = timeline.deadline() {
                self.agenda.retentions.remove(&(at, timeline_id));
            }
            let mark = Mark { offset: timeline.line.offset, position: Position::MAX };
            self.pen.write(facts, Write::RaiseFloor { timeline: timeline_id, mark });
            self.pen.touch(StateKey::Timeline(timeline_id));
        }
        self.pen.touch(StateKey::PartitionTotals(id.topic, id.partition));
        Answer::Done
    }
}
