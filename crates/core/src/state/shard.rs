//! The shard: every partition it owns, its sequence numbers, its time, and the batch being made.

use std::collections::{BTreeMap, BTreeSet};

use punctual_types::{
    ConsumerNumber, Epoch, Lane, Now, Offset, PartitionNumber, Position, Seq, ShardNumber, SubscriptionNumber, Time,
    TimelineId, TopicNumber,
};

use super::{
    TransferSource,
    agenda::{Agenda, LeaseEnd},
    partition::Partition,
    pen::Pen,
    subscription::Subscription,
    timeline::Timeline,
};
use crate::{
    HandleHash,
    format::{StateKey, shard_meta::ShardMeta},
};

/// What a shard is told when it is made.
#[derive(Clone, Copy, Debug)]
pub struct ShardConfig {
    /// Which shard it is.
    pub number: ShardNumber,
    /// Of how many.
    pub shards: u16,
    /// How handles are hashed.
    pub hash: HandleHash,
}

/// A partition of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The topic.
    pub topic: TopicNumber,
    /// Which of its partitions.
    pub partition: PartitionNumber,
}

impl PartitionId {
    /// One of its timelines.
    #[must_use]
    pub const fn lane(self, lane: Lane) -> TimelineId {
        TimelineId { topic: self.topic, partition: self.partition, lane }
    }
}

impl From<TimelineId> for PartitionId {
    fn from(timeline: TimelineId) -> Self {
        Self { topic: timeline.topic, partition: timeline.partition }
    }
}

/// What ties broker time to the machine's, kept with every commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardClock {
    /// Which boot; all zero for a manual clock.
    pub boot: [u8; 16],
    /// Nanoseconds since that boot.
    pub boottime_ns: u64,
    /// Broker time at that moment, in nanoseconds since the Unix epoch: whole milliseconds would
    /// let time drift by one at every restart.
    pub time_ns: u64,
}

/// The lease that a receipt names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRef {
    /// On which timeline.
    pub timeline: TimelineId,
    /// Of which subscription.
    pub subscription: SubscriptionNumber,
    /// Of which message.
    pub offset: Offset,
    /// In which ownership of the shard.
    pub epoch: Epoch,
    /// Which lease of that ownership.
    pub serial: u64,
}

/// A shard's whole state.
#[derive(Debug)]
pub struct Shard {
    pub(crate) config: ShardConfig,
    pub(crate) meta: ShardMeta,
    pub(crate) partitions: BTreeMap<PartitionId, Partition>,
    pub(crate) agenda: Agenda,
    pub(crate) pen: Pen,
    pub(crate) last_lease: u64,
    /// The last transfer taken from each source.
    pub(crate) arrived: BTreeMap<TransferSource, u64>,
}

impl Shard {
    /// A shard without anything in it.
    #[must_use]
    pub fn new(config: ShardConfig) -> Self {
        Self {
            config,
            meta: ShardMeta::default(),
            partitions: BTreeMap::new(),
            agenda: Agenda::default(),
            pen: Pen::default(),
            last_lease: 0,
            arrived: BTreeMap::new(),
        }
    }

    /// The shard's number.
    #[must_use]
    pub fn number(&self) -> ShardNumber {
        self.config.number
    }

    /// This ownership.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.meta.epoch
    }

    /// The latest time that the shard has acted at.
    #[must_use]
    pub fn time(&self) -> Time {
        self.meta.time
    }

    /// What the shard last kept of the machine's clock.
    #[must_use]
    pub fn clock(&self) -> ShardClock {
        ShardClock { boot: self.meta.boot, boottime_ns: self.meta.boottime_ns, time_ns: self.meta.time_ns }
    }

    /// Makes the next seal keep the shard's time even if nothing else is written.
    pub fn keep_time(&mut self, now: Now) {
        self.meta.time = self.meta.time.max(now.floor);
        self.pen.touch(StateKey::Shard);
    }

    /// The highest sequence number given.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        self.meta.last_seq
    }

    /// Every partition of a topic that has any state.
    pub fn partition_ids(&self) -> impl Iterator<Item = PartitionId> + '_ {
        self.partitions.keys().copied().filter(|id| id.topic != TimelineId::outgoing(self.config.number).topic)
    }

    /// Every subscription that has any state.
    pub fn subscription_ids(&self) -> impl Iterator<Item = (PartitionId, SubscriptionNumber)> + '_ {
        self.partitions.iter().flat_map(|(id, partition)| partition.subscriptions.keys().map(|number| (*id, *number)))
    }

    /// Timelines of which something may be due by now and may cross, given what is durable.
    #[must_use]
    pub fn due_timelines(&self, now: Time, durable: Seq) -> Vec<TimelineId> {
        let due = self.agenda.due.iter().take_while(|(time, _)| *time <= now).map(|(_, timeline)| *timeline);
        due.filter(|id| self.timeline(*id).is_some_and(|timeline| timeline.blocked_on.is_none_or(|seq| seq <= durable)))
            .collect()
    }

    /// When the next thing happens that does not wait for a sync: the deadline to sleep to.
    #[must_use]
    pub fn next_wake(&self, durable: Seq) -> Option<Time> {
        let unblocked = |id: &TimelineId| {
            self.timeline(*id).is_some_and(|timeline| timeline.blocked_on.is_none_or(|seq| seq <= durable))
        };
        let due = self.agenda.due.iter().find(|(_, id)| unblocked(id)).map(|(time, _)| *time);
        let ends = [&self.agenda.lease_ends, &self.agenda.parked].map(|ends| ends.first().map(|end| end.at));
        let resumes = self.agenda.resumes.first().map(|(at, ..)| *at);
        let retention = self.agenda.retentions.first().map(|(at, _)| *at);
        due.into_iter().chain(ends.into_iter().flatten()).chain(resumes).chain(retention).min()
    }

    /// Timelines that may have kept something for as long as their topics say.
    #[must_use]
    pub fn due_retentions(&self, now: Time) -> Vec<TimelineId> {
        self.agenda.retentions.iter().take_while(|(time, _)| *time <= now).map(|(_, timeline)| *timeline).collect()
    }

    /// Whether a lease has ended by now, or something that was held up may be offered again.
    #[must_use]
    pub fn has_ended_leases(&self, now: Time) -> bool {
        let ended = |ends: &BTreeSet<LeaseEnd>| ends.first().is_some_and(|end| end.at <= now);
        let resumes = self.agenda.resumes.first().is_some_and(|(at, ..)| *at <= now);
        resumes || ended(&self.agenda.lease_ends) || ended(&self.agenda.parked)
    }

    /// A timeline whose floor may rise, if there is one.
    #[must_use]
    pub fn risen_floor(&self) -> Option<TimelineId> {
        self.agenda.floors.first().copied()
    }

    /// Whether a subscription has something to offer and may offer it now, from which lane, and how
    /// much.
    #[must_use]
    pub fn offers(&self, partition: PartitionId, subscription: SubscriptionNumber, now: Time) -> Option<(Lane, u32)> {
        let partition = self.partitions.get(&partition)?;
        let subscription = partition.subscriptions.get(&subscription)?;
        let room = subscription.allowance(now.max(self.meta.time));
        let leases = subscription.rules.kind == super::SubscriptionKind::Shared;
        if !leases || subscription.rules.paused || room == 0 {
            return None;
        }
        Some((partition.next_lane(subscription)?, u32::try_from(room).unwrap_or(u32::MAX)))
    }

    /// How many messages of a subscription a consumer has.
    #[must_use]
    pub fn held_by(&self, partition: PartitionId, subscription: SubscriptionNumber, consumer: ConsumerNumber) -> u32 {
        self.subscription(partition, subscription).and_then(|it| it.held.get(&consumer).copied()).unwrap_or(0)
    }

    /// The position that every reader of a timeline has passed, as far as all of them are known.
    #[must_use]
    pub fn passed(&self, timeline: TimelineId) -> Option<Position> {
        let partition = self.partitions.get(&timeline.into())?;
        let readers =
            partition.subscriptions.values().filter_map(|subscription| subscription.readers.get(&timeline.lane));
        readers.map(|reader| reader.cursor_position.unwrap_or(Position::MIN)).min()
    }

    /// The partitions whose counts changed since this was last asked.
    pub fn take_changed(&mut self) -> BTreeSet<PartitionId> {
        std::mem::take(&mut self.pen.changed)
    }

    /// Where a timeline's line stands.
    #[must_use]
    pub fn line(&self, timeline: TimelineId) -> Option<Position> {
        Some(self.timeline(timeline)?.line.position)
    }

    /// A partition, counted.
    #[must_use]
    pub fn partition_stats(&self, partition: PartitionId) -> Option<super::PartitionStats> {
        Some(self.partitions.get(&partition)?.stats(self.meta.time))
    }

    pub(crate) fn timeline(&self, id: TimelineId) -> Option<&Timeline> {
        self.partitions.get(&id.into())?.timelines.get(&id.lane)
    }

    pub(crate) fn timeline_mut(&mut self, id: TimelineId) -> Option<&mut Timeline> {
        self.partitions.get_mut(&id.into())?.timelines.get_mut(&id.lane)
    }

    pub(crate) fn subscription(&self, partition: PartitionId, number: SubscriptionNumber) -> Option<&Subscription> {
        self.partitions.get(&partition)?.subscriptions.get(&number)
    }

    pub(crate) fn subscription_mut(
        &mut self,
        partition: PartitionId,
        number: SubscriptionNumber,
    ) -> Option<&mut Subscription> {
        self.partitions.get_mut(&partition)?.subscriptions.get_mut(&number)
    }

    pub(crate) fn reader(&self, id: TimelineId, subscription: SubscriptionNumber) -> Option<&super::Reader> {
        self.subscription(id.into(), subscription)?.readers.get(&id.lane)
    }

    pub(crate) fn reader_mut(
        &mut self,
        id: TimelineId,
        subscription: SubscriptionNumber,
    ) -> Option<&mut super::Reader> {
        self.subscription_mut(id.into(), subscription)?.readers.get_mut(&id.lane)
    }
}
