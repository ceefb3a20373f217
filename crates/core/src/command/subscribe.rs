//! Making, changing and forgetting a subscription.

use punctual_types::{Lane, Mark, Offset, Position, Read, SubscriptionNumber, Time, TimelineId};

use super::Answer;
use crate::{
    Facts,
    format::StateKey,
    state::{PartitionId, Shard, SubscriptionRules},
};

/// Where a new subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionStart {
    /// With the oldest message that is still there.
    Earliest,
    /// With what comes due from now on.
    Latest,
    /// With the first message due at or after this; with the oldest where that was not looked up.
    At(Time),
}

impl Shard {
    pub(super) fn subscribe_reads(
        &self,
        id: PartitionId,
        number: SubscriptionNumber,
        start: SubscriptionStart,
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        if let SubscriptionStart::At(time) = start
            && self.subscription(id, number).is_none()
        {
            self.seek_reads(id, Some(time), facts, wanted);
        }
    }

    fn starts_at(&self, id: TimelineId, start: SubscriptionStart, facts: &Facts) -> Offset {
        let (line, floor) = self.timeline(id).map_or_else(Default::default, |it| (it.line.offset, it.floor.offset));
        match start {
            SubscriptionStart::Earliest => floor,
            SubscriptionStart::Latest => line,
            SubscriptionStart::At(time) => {
                let looked_up = self.first_due(id, time).is_none_or(|window| facts.knows(&window));
                self.offset_due_from(id, time, facts).unwrap_or(if looked_up { line } else { floor })
            }
        }
    }

    /// Idempotent: a subscription that is there only takes the settings.
    pub(super) fn subscribe(
        &mut self,
        id: PartitionId,
        number: SubscriptionNumber,
        rules: SubscriptionRules,
        start: SubscriptionStart,
        facts: &Facts,
    ) -> Answer {
        let Some(partition) = self.partitions.get_mut(&id) else { return Answer::Gone };
        // Every partition has its main timeline from here on, so that the reader has a place.
        partition.timelines.entry(Lane::MAIN).or_default();
        let published: Vec<_> = self
            .published_lanes(id)
            .into_iter()
            .map(|timeline| (timeline.lane, self.starts_at(timeline, start, facts)))
            .collect();
        let Some(partition) = self.partitions.get_mut(&id) else { return Answer::Gone };
        let subscription = partition.subscriptions.entry(number).or_default();
        if subscription.rules.breaker != rules.breaker {
            subscription.breaker = Default::default();
        }
        subscription.rules = rules;
        let mut begun = Vec::new();
        for (lane, from) in published {
            if subscription.readers.contains_key(&lane) {
                continue;
            }
            subscription.reader(lane, from).began_at = self.meta.time;
            self.pen.touch(StateKey::Timeline(id.lane(lane)));
            self.pen.touch(StateKey::Reader(id.lane(lane), number));
            begun.push(id.lane(lane));
        }
        for timeline in begun {
            self.look_again(timeline);
        }
        Answer::Done
    }

    /// Lets every subscription read a lane that a first message is about to make. What stood there
    /// before stays with those who read it already.
    pub(super) fn read_lane(&mut self, id: PartitionId, lane: Lane) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        if partition.timelines.contains_key(&lane) {
            return;
        }
        for (number, subscription) in &mut partition.subscriptions {
            subscription.reader(lane, Offset(0));
            self.pen.touch(StateKey::Reader(id.lane(lane), *number));
        }
    }

    /// Forgets a subscription with what was to be tried again for it. What only it still wanted may
    /// be dropped.
    pub(super) fn unsubscribe(&mut self, id: PartitionId, number: SubscriptionNumber, facts: &mut Facts) -> Answer {
        let Some(subscription) = self.subscription(id, number) else { return Answer::Done };
        let (mut timelines, mut pieces) = (Vec::new(), Vec::new());
        for (lane, reader) in &subscription.readers {
            let timeline = id.lane(*lane);
            pieces.push(StateKey::Reader(timeline, number));
            pieces.extend(reader.pieces(timeline, number));
            timelines.push(timeline);
        }
        self.pen.dirty.extend(pieces);
        for timeline in timelines {
            self.forget_deadlines(timeline, number);
        }
        self.pen.touch(StateKey::SubscriptionTotals(id.topic, id.partition, number));
        let Some(partition) = self.partitions.get_mut(&id) else { return Answer::Done };
        partition.subscriptions.remove(&number);
        let retry = id.lane(Lane::Retry(number));
        if let Some(mut timeline) = partition.timelines.remove(&retry.lane) {
            self.agenda.set_due(retry, &mut timeline.next_due, None);
            self.agenda.floors.remove(&retry);
            let mark = Mark { offset: timeline.line.offset, position: Position::MAX };
            self.raise_floor(facts, retry, mark);
        }
        let lanes: Vec<_> =
            self.partitions.get(&id).map(|it| it.timelines.keys().copied().collect()).unwrap_or_default();
        for lane in lanes {
            self.follow_floor(facts, id.lane(lane));
        }
        Answer::Done
    }
}
