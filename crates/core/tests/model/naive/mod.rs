//! A broker partition in the plainest form: a sorted map ahead of the line, a list behind it.
//!
//! It knows no index, no bitmap, no cursor and no store. What became of a message stands with the
//! message, and questions are answered by looking at all of them.

mod handles;
mod leases;
mod parts;
mod readers;

use std::collections::{BTreeMap, BTreeSet};

use punctual_core::{
    CancelAnswer, DeliverNowAnswer, ExtendAnswer, LeaseRef, NackAnswer, OnKeyConflict, PublishAnswer, PublishRefusal,
    RescheduleAnswer, SettleAnswer,
};
use punctual_types::{
    Epoch, Lane, MessageRef, Now, Offset, PartitionNumber, Position, Seq, SubscriptionNumber, Time, TimelineId,
    TopicNumber,
};

pub(crate) use self::parts::{Copy, Kind, Line, Message, Reader, Reading};
use self::parts::{Fate, Held};
pub(crate) use self::readers::WANTED_TAG;
use super::step::{Item, Step, When};

pub(crate) const MAIN: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));
pub(crate) const DEAD: TimelineId = TimelineId::main(TopicNumber(9), PartitionNumber(0));
pub(crate) const DEAD_READER: SubscriptionNumber = SubscriptionNumber(1000);
pub(crate) const WINDOW_MS: u64 = 10_000;
pub(crate) const LEASE_MS: u64 = 10_000;
pub(crate) const RETRY_INITIAL_MS: u64 = 1_000;
pub(crate) const RETRY_MAX_MS: u64 = 3_000;
pub(crate) const IN_FLIGHT_MAX: u32 = 4;
pub(crate) const SUBSCRIPTIONS_MAX: usize = 3;
const KEPT_MS: u64 = 600_000;
/// Where time begins: not at zero, so that times before it can be asked for.
const BEGIN_MS: u64 = 1_000_000;

/// How often a subscription is tried.
pub(crate) fn attempts_max(subscription: SubscriptionNumber) -> u32 {
    if subscription == DEAD_READER { 1000 } else { 2 + subscription.0 % 2 }
}

/// What the shard must answer to the last step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Nothing,
    Published(Vec<PublishAnswer>),
    /// The first offset and the positions of what crossed, by timeline.
    Crossed(BTreeMap<TimelineId, (Offset, Vec<Position>)>),
    /// Offset, message and attempt of each delivery, and the receipts.
    Leased(Vec<(Offset, MessageRef, u32)>),
    Settled(Vec<SettleAnswer>),
    Nacked(Vec<NackAnswer>),
    Extended(Vec<ExtendAnswer>),
    Returned(BTreeSet<SubscriptionNumber>),
    Cancelled(CancelAnswer),
    Rescheduled(RescheduleAnswer),
    DeliveredNow(DeliverNowAnswer),
    RangeCancelled(u64),
    /// Which message, and whether it is scheduled.
    Found(Option<(usize, bool)>),
    Group(Vec<Told>),
}

#[derive(Clone, Debug)]
pub(crate) struct Naive {
    pub(crate) now: Now,
    time: u64,
    pub(crate) last_seq: Seq,
    serial: u64,
    epoch: Epoch,
    pub(crate) messages: Vec<Message>,
    pub(crate) lines: BTreeMap<TimelineId, Line>,
    pub(crate) readers: BTreeMap<SubscriptionNumber, Reader>,
    pub(crate) receipts: Vec<LeaseRef>,
    pub(crate) published: BTreeMap<TopicNumber, u64>,
    pub(crate) cancelled: u64,
    pub(crate) last_subscription: u32,
    /// How many messages and receipts were known when the group of steps was asked for, and where
    /// the floors were: what a group asks about is read before any of it is done.
    known: Option<(usize, usize, BTreeMap<TimelineId, usize>)>,
    /// What a crash would leave.
    safe: Option<Box<Self>>,
    pub(crate) told: Told,
}

impl Naive {
    pub(crate) fn new() -> Self {
        let now = Now::exactly(Time::from_unix_ms(BEGIN_MS).expect("a time"));
        let mut naive = Self {
            now,
            time: BEGIN_MS,
            last_seq: Seq(0),
            serial: 0,
            epoch: Epoch(1),
            messages: Vec::new(),
            lines: BTreeMap::from([(MAIN, Line::default()), (DEAD, Line::default())]),
            readers: BTreeMap::new(),
            receipts: Vec::new(),
            published: BTreeMap::new(),
            cancelled: 0,
            last_subscription: 0,
            known: None,
            safe: None,
            told: Told::Nothing,
        };
        naive.subscribe(SubscriptionNumber(1), Kind::Plain, true);
        naive.last_subscription = 1;
        naive.subscribe(DEAD_READER, Kind::Plain, true);
        naive.sync();
        naive
    }

    pub(crate) fn take(&mut self, step: &Step) {
        self.time = self.time.max(self.now.floor.unix_ms());
        self.told = match step {
            Step::Tick { ms, between } => {
                let floor = self.now.floor.unix_ms() + ms;
                self.now = Now { floor: time(floor), ceil: time(floor + u64::from(*between)) };
                Told::Nothing
            }
            Step::Publish(items) => Told::Published(items.iter().map(|item| self.publish(item)).collect()),
            Step::Advance { undurable, .. } => Told::Crossed(self.advance(*undurable)),
            Step::Subscribe { earliest, kind } => {
                if let Some(number) = self.next_subscription() {
                    self.last_subscription = number.0;
                    self.subscribe(number, *kind, *earliest);
                }
                self.sync();
                Told::Nothing
            }
            Step::Unsubscribe(pick) => {
                self.unsubscribe(*pick);
                self.sync();
                Told::Nothing
            }
            Step::Lease { subscription, retries, max, consumer } => {
                self.lease(*subscription, *retries, *max, *consumer)
            }
            Step::Ack(picks) => Told::Settled(self.ack(picks)),
            Step::Nack { receipts, delay } => Told::Nacked(self.nack(receipts, *delay)),
            Step::Release(picks) => Told::Settled(self.release(picks)),
            Step::Extend { receipts, ms } => Told::Extended(self.extend(receipts, *ms)),
            Step::Expire { limit } => self.expire(*limit),
            Step::Disconnect { subscription, consumer, graceful } => {
                self.disconnect(*subscription, *consumer, *graceful)
            }
            Step::Cancel(handle) => Told::Cancelled(self.cancel(*handle)),
            Step::Reschedule(handle, when) => Told::Rescheduled(self.reschedule(*handle, *when)),
            Step::DeliverNow(handle) => Told::DeliveredNow(self.deliver_now(*handle)),
            Step::CancelRange { from, to, later } => Told::RangeCancelled(self.cancel_range(*from, *to, *later)),
            Step::Get(handle) => Told::Found(self.get(*handle)),
            Step::Seek { subscription, to } => {
                self.seek(*subscription, *to);
                Told::Nothing
            }
            Step::Group(steps) => {
                let floors = self.lines.iter().map(|(id, line)| (*id, line.floor)).collect();
                self.known = Some((self.messages.len(), self.receipts.len(), floors));
                let take = |step| {
                    self.take(step);
                    self.told.clone()
                };
                let told = steps.iter().map(take).collect();
                self.known = None;
                Told::Group(told)
            }
            Step::Sync => {
                self.sync();
                Told::Nothing
            }
            Step::Restart => {
                self.reopen();
                Told::Nothing
            }
            Step::Crash => {
                self.crash();
                Told::Nothing
            }
        };
    }

    fn sync(&mut self) {
        self.safe = None;
        self.safe = Some(Box::new(self.clone()));
    }

    /// What was not durable is gone; receipts stay with those who have them.
    fn crash(&mut self) {
        let receipts = std::mem::take(&mut self.receipts);
        let (now, epoch, serial) = (self.now, self.epoch, self.serial);
        *self = *self.safe.take().expect("synced when it began");
        *self = Self { receipts, now, epoch, serial, ..self.clone() };
        self.reopen();
    }

    fn reopen(&mut self) {
        self.epoch = Epoch(self.epoch.0 + 1);
        self.serial = 0;
        self.time = self.time.max(self.now.floor.unix_ms());
        for reading in self.readers.values_mut().flat_map(|reader| reader.lanes.values_mut()) {
            reading.reopen(self.time);
        }
        self.sync();
    }

    /// The number of the next subscription: never used before.
    pub(crate) fn next_subscription(&self) -> Option<SubscriptionNumber> {
        (self.readers.len() <= SUBSCRIPTIONS_MAX).then_some(SubscriptionNumber(self.last_subscription + 1))
    }

    /// The subscription that a number picks.
    pub(crate) fn pick_reader(&self, pick: usize) -> SubscriptionNumber {
        *self.readers.keys().nth(pick % self.readers.len()).expect("counted round")
    }

    pub(crate) fn pick_receipts(&self, picks: &[usize]) -> Vec<LeaseRef> {
        // The latest ones first, which are the most likely to run.
        let count = self.known.as_ref().map_or(self.receipts.len(), |(_, receipts, _)| *receipts);
        if count == 0 {
            return Vec::new();
        }
        picks.iter().map(|pick| self.receipts[count - 1 - pick % count]).collect()
    }

    pub(crate) fn pick_message(&self, pick: usize) -> Option<usize> {
        let count = self.known.as_ref().map_or(self.messages.len(), |(messages, ..)| *messages);
        (count > 0).then(|| count - 1 - pick % count)
    }

    pub(crate) fn due(&self, when: When) -> u64 {
        let (floor, ceil) = (self.now.floor.unix_ms(), self.now.ceil.unix_ms());
        match when {
            When::Now | When::After(0) => floor,
            When::After(ms) => ceil + ms,
            When::At(offset) => floor.max(floor.checked_add_signed(offset).expect("time begins late enough")),
        }
    }

    fn is_ahead(&self, index: usize) -> bool {
        let message = &self.messages[index];
        matches!(message.fate, Fate::Pending | Fate::DeliveredNow(_))
            && message.stands > self.lines[&message.id.timeline()].position()
    }

    fn insert(&mut self, line: TimelineId, due: u64, copy: Copy) -> Position {
        self.last_seq = self.last_seq.next();
        let line = self.lines.entry(line).or_default();
        let position = Position::new(time(due).max(line.position().due), self.last_seq);
        line.ahead.insert(position, copy);
        position
    }

    fn latest(&self, has: impl Fn(&Message) -> bool) -> Option<usize> {
        self.messages.iter().rposition(has)
    }

    fn publish(&mut self, item: &Item) -> PublishAnswer {
        if let Some(index) = item.dedup.and_then(|dedup| self.latest(|message| message.dedup == Some(dedup))) {
            let message = &self.messages[index];
            if self.time < message.published_at + WINDOW_MS || self.is_ahead(index) {
                return PublishAnswer::Duplicate { message: message.id, due: message.stands.due };
            }
        }
        let holder = item.key.and_then(|key| self.latest(|message| message.key == Some(key)));
        let holder = holder.filter(|index| self.messages[*index].fate == Fate::Pending && self.is_ahead(*index));
        if let Some(index) = holder {
            let (message, due) = (self.messages[index].id, self.messages[index].stands.due);
            match item.on_conflict {
                OnKeyConflict::Reject => {
                    return PublishAnswer::Refused(PublishRefusal::KeyConflict { message, due });
                }
                OnKeyConflict::Keep => return PublishAnswer::Kept { message, due },
                OnKeyConflict::Replace => self.remove(index, Fate::Replaced),
            }
        }
        let copy = Copy { message: self.messages.len(), attempts: 0, dead: false };
        let lane = Lane::Priority(item.priority);
        if !self.lines.contains_key(&MAIN.lane(lane)) {
            // Everybody reads the lane that a first message makes.
            for (_, reader) in self.readers.iter_mut().filter(|(number, _)| Self::home(**number) == MAIN) {
                reader.lanes.insert(lane, Reading::default());
            }
        }
        let first = self.insert(MAIN.lane(lane), self.due(item.when), copy);
        let id = MessageRef { topic: MAIN.topic, partition: MAIN.partition, priority: item.priority, first };
        self.messages.push(Message {
            id,
            published_at: self.time,
            key: item.key,
            dedup: item.dedup,
            order: item.order,
            tag: item.tag,
            stands: first,
            fate: Fate::Pending,
            gone_at: 0,
            told_crossed: None,
            told_crossed_by_key: None,
        });
        *self.published.entry(MAIN.topic).or_default() += 1;
        match holder {
            Some(index) => PublishAnswer::Replaced { message: id, due: first.due, replaced: self.messages[index].id },
            None => PublishAnswer::Accepted { message: id, due: first.due },
        }
    }

    fn remove(&mut self, index: usize, fate: Fate) {
        let message = &mut self.messages[index];
        message.fate = fate;
        message.gone_at = self.time;
        let (line, stands) = (message.id.timeline(), message.stands);
        self.lines.get_mut(&line).expect("it stands there").ahead.remove(&stands).expect("it was ahead");
        self.cancelled += 1;
    }

    fn advance(&mut self, undurable: u64) -> BTreeMap<TimelineId, (Offset, Vec<Position>)> {
        let durable = Seq(self.last_seq.0.saturating_sub(undurable));
        let mut crossed = BTreeMap::new();
        for (id, line) in &mut self.lines {
            let first = Offset(line.crossed.len() as u64);
            let mut positions = Vec::new();
            while let Some(next) = line.ahead.first_entry() {
                if next.key().due > self.now.floor || next.key().seq > durable {
                    break;
                }
                let (position, copy) = next.remove_entry();
                positions.push(position);
                line.crossed.push((position, copy));
            }
            if !positions.is_empty() {
                crossed.insert(*id, (first, positions));
            }
        }
        crossed
    }

    fn lines_of(&self, topic: TopicNumber) -> Vec<TimelineId> {
        self.lines.keys().copied().filter(|line| line.topic == topic).collect()
    }

    /// The topic that a subscription reads.
    pub(crate) fn home(number: SubscriptionNumber) -> TimelineId {
        if number == DEAD_READER { DEAD } else { MAIN }
    }

    fn readings(&self, line: TimelineId) -> impl Iterator<Item = &Reading> {
        let readers = self.readers.iter().filter(move |(number, _)| Self::home(**number).topic == line.topic);
        readers.filter_map(move |(_, reader)| reader.lanes.get(&line.lane))
    }

    /// Everything is dropped once everybody has settled everything; steps of 1,024 are not met here.
    fn follow_floor(&mut self, id: TimelineId) {
        let Some(lowest) = self.readings(id).map(Reading::floor).min() else { return };
        if let Some(line) = self.lines.get_mut(&id)
            && lowest >= line.crossed.len()
        {
            line.floor = line.crossed.len();
        }
    }
}

pub(crate) fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("histories end long before the year 10000")
}
