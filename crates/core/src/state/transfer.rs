//! What goes from one shard to another: written in the source's batch, taken once by the target.

use bytes::Bytes;
use punctual_types::{Now, PartitionNumber, ShardNumber, Time, TimelineId, TopicNumber, placement};

use super::{PartitionId, Shard};
use crate::{Facts, PublishItem, format::transfer};

/// Who sends transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferSource {
    /// A name of its data directory that is like no other's.
    pub directory: [u8; 16],
    /// The shard.
    pub shard: ShardNumber,
}

/// What a transfer does at its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferItem {
    /// Insert a record: a dead letter, or a letter that goes back to its subscription.
    Record {
        /// Into which timeline.
        timeline: TimelineId,
        /// Due then.
        due: Time,
        /// The record.
        record: Bytes,
    },
    /// Publish a message.
    Publish {
        /// Into which partition.
        partition: PartitionId,
        /// The message.
        item: Box<PublishItem>,
    },
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Counted from 1 for each source and target, without gaps.
    pub number: u64,
    /// What it does.
    pub item: TransferItem,
}

/// Where a topic's partitions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicPlace {
    /// The topic.
    pub topic: TopicNumber,
    /// What its placement is counted from.
    pub root: TopicNumber,
    /// How many partitions it has.
    pub partitions: u16,
}

impl TopicPlace {
    /// The place of a topic that is its own root.
    #[must_use]
    pub const fn of(topic: TopicNumber, partitions: u16) -> Self {
        Self { topic, root: topic, partitions }
    }

    /// The partition that takes the letters of a partition of another topic.
    #[must_use]
    pub fn partition_for(self, partition: PartitionNumber) -> PartitionId {
        PartitionId { topic: self.topic, partition: PartitionNumber(partition.0 % self.partitions.max(1)) }
    }

    /// The shard that keeps one of its partitions.
    #[must_use]
    pub const fn shard(self, partition: PartitionId, shards: u16) -> ShardNumber {
        placement(self.root, partition.partition, shards)
    }
}

impl Shard {
    /// The shard as a sender of transfers. The secret of the directory gives it its name without
    /// being told by it.
    #[must_use]
    pub fn transfer_source(&self) -> TransferSource {
        TransferSource { directory: self.config.hash.of(b"data directory"), shard: self.config.number }
    }

    /// The shards that something is on its way to and may leave: it is durable.
    pub fn outgoing_targets(&self) -> impl Iterator<Item = ShardNumber> + '_ {
        let own = self.partitions.get(&TimelineId::outgoing(self.config.number).into());
        own.into_iter().flat_map(|own| &own.timelines).filter_map(|(lane, timeline)| match lane {
            punctual_types::Lane::Outgoing(target) => (timeline.floor < timeline.line).then_some(*target),
            _ => None,
        })
    }

    /// Writes a transfer in the batch of what causes it.
    pub(crate) fn send(&mut self, facts: &mut Facts, target: ShardNumber, item: TransferItem, now: Now) {
        let id = TimelineId::outgoing(target);
        // What was sent before: what has crossed, and what has not. Nothing is ever removed.
        let sent = self.timeline(id).map_or(0, |timeline| timeline.line.offset.0 + timeline.scheduled);
        let transfer = Transfer { number: sent + 1, item };
        // Shard time never goes back, so positions are in the order of the numbers.
        self.insert(facts, id, now.floor, |_| transfer::encode(&transfer));
    }
}
