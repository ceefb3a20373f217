//! Subscriptions: how each reads, and where it begins.

use std::collections::BTreeMap;

use punctual_types::{Lane, SubscriptionNumber, Time, TimelineId};

use super::{super::step::To, Copy, DEAD_READER, Kind, MAIN, Naive, Reader, Reading, time};

/// The tag that a filtered subscription wants.
pub(crate) const WANTED_TAG: u8 = 0;

impl Naive {
    /// The timelines that messages are published to, of the topic that a subscription reads.
    pub(crate) fn published(&self, number: SubscriptionNumber) -> Vec<TimelineId> {
        let lines = self.lines_of(Self::home(number).topic).into_iter();
        lines.filter(|line| matches!(line.lane, Lane::Priority(_))).collect()
    }

    pub(super) fn subscribe(&mut self, number: SubscriptionNumber, kind: Kind, earliest: bool) {
        let reading = |id: TimelineId| {
            let line = &self.lines[&id];
            let begin = if earliest { line.floor } else { line.crossed.len() };
            (id.lane, Reading { begin, ..Reading::default() })
        };
        let lanes: BTreeMap<_, _> = self.published(number).into_iter().map(reading).collect();
        self.readers.insert(number, Reader { kind, lanes, ..Reader::default() });
    }

    pub(super) fn unsubscribe(&mut self, pick: usize) {
        let number = self.pick_reader(pick);
        if number == DEAD_READER {
            return;
        }
        self.readers.remove(&number);
        self.lines.remove(&MAIN.lane(Lane::Retry(number)));
        for line in self.lines_of(MAIN.topic) {
            self.follow_floor(line);
        }
    }

    /// The time that a seek means; `None` is past everything.
    pub(crate) fn seek_time(&self, to: To) -> Option<Time> {
        match to {
            To::Earliest => Some(Time::ZERO),
            To::Latest => None,
            To::At(offset) => {
                Some(time(self.now.floor.unix_ms().checked_add_signed(offset).expect("time begins late enough")))
            }
        }
    }

    /// Everything from there on is read anew; what is to be tried again is left alone.
    pub(super) fn seek(&mut self, pick: usize, to: To) {
        let (number, to) = (self.pick_reader(pick), self.seek_time(to));
        for id in self.published(number) {
            let line = &self.lines[&id];
            let due = |(position, _): &(punctual_types::Position, Copy)| to.is_some_and(|to| position.due >= to);
            let first = line.crossed.iter().skip(line.floor).position(due);
            let begin = first.map_or(line.crossed.len(), |first| line.floor + first);
            let reader = self.readers.get_mut(&number).expect("picked");
            reader.lanes.insert(id.lane, Reading { begin, ..Reading::default() });
            self.follow_floor(id);
        }
    }

    /// The lane of fresh messages that goes next: of the highest priority that has any.
    pub(crate) fn fresh_lane(&self, number: SubscriptionNumber) -> Lane {
        let has_some = |id: &TimelineId| {
            let reading = self.readers[&number].lanes.get(&id.lane);
            reading.is_some_and(|reading| !reading.ready(&self.lines[id]).is_empty())
        };
        self.published(number).into_iter().rev().find(has_some).map_or(Lane::MAIN, |id| id.lane)
    }

    /// Whether a filter lets a message through. What is tried again was let through before.
    pub(super) fn wants(&self, number: SubscriptionNumber, id: TimelineId, offset: usize) -> bool {
        let message = self.lines[&id].crossed[offset].1.message;
        let filtered = self.readers[&number].kind == Kind::Filtered && matches!(id.lane, Lane::Priority(_));
        !filtered || self.messages[message].tag == Some(WANTED_TAG)
    }

    /// Whether an earlier message of its ordering key is not settled.
    pub(crate) fn waits(&self, number: SubscriptionNumber, id: TimelineId, offset: usize) -> bool {
        let reader = &self.readers[&number];
        let order = |offset: usize| self.messages[self.lines[&id].crossed[offset].1.message].order;
        let Some(reading) = reader.lanes.get(&id.lane).filter(|_| reader.kind == Kind::Ordered) else { return false };
        let earlier = reading.begin..offset;
        order(offset).is_some() && earlier.clone().any(|it| !reading.is_settled(it) && order(it) == order(offset))
    }
}
