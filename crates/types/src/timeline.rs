//! Which timeline: a partition has one for its messages and hidden ones beside it.

use crate::{PartitionNumber, ShardNumber, SubscriptionNumber, TopicNumber};

/// One list of records ordered by position, with a now-line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimelineId {
    /// The topic.
    pub topic: TopicNumber,
    /// The partition of the topic.
    pub partition: PartitionNumber,
    /// Which of the partition's timelines.
    pub lane: Lane,
}

/// Which of a partition's timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Published messages of a priority; 0 is the only one of a topic without priorities.
    Priority(u8),
    /// What is to be tried again for one subscription, read by it alone.
    Retry(SubscriptionNumber),
    /// Marks of when something expires, so that it happens at its time and not at the queue's head.
    Expiry,
    /// When prepared messages are to be checked.
    Check,
    /// Transfers to another shard that have not arrived; of the shard itself, not of a topic.
    Outgoing(ShardNumber),
}

impl Lane {
    /// The lane of a topic without priorities.
    pub const MAIN: Self = Self::Priority(0);
    /// Bytes of the stored form.
    pub const BYTES: usize = 5;

    /// The stored form: a kind and a number, big-endian. Kinds are never reused.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; Self::BYTES] {
        let (kind, number) = match self {
            Self::Priority(priority) => (1, priority as u32),
            Self::Retry(subscription) => (2, subscription.0),
            Self::Expiry => (3, 0),
            Self::Check => (4, 0),
            Self::Outgoing(shard) => (5, shard.0 as u32),
        };
        let [a, b, c, d] = number.to_be_bytes();
        [kind, a, b, c, d]
    }

    /// The lane of a stored form; `None` when it is not one.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let [kind, a, b, c, d] = bytes;
        let number = u32::from_be_bytes([a, b, c, d]);
        match (kind, number) {
            (1, number) => u8::try_from(number).ok().map(Self::Priority),
            (2, number) => Some(Self::Retry(SubscriptionNumber(number))),
            (3, 0) => Some(Self::Expiry),
            (4, 0) => Some(Self::Check),
            (5, number) => u16::try_from(number).ok().map(|shard| Self::Outgoing(ShardNumber(shard))),
            _ => None,
        }
    }
}

impl TimelineId {
    /// Bytes of the stored form.
    pub const BYTES: usize = 4 + 2 + Lane::BYTES;

    /// A timeline of published messages.
    #[must_use]
    pub const fn main(topic: TopicNumber, partition: PartitionNumber) -> Self {
        Self { topic, partition, lane: Lane::MAIN }
    }

    /// A shard's own timeline of what goes to another shard: no topic has the number 0.
    #[must_use]
    pub const fn outgoing(target: ShardNumber) -> Self {
        Self { topic: TopicNumber(0), partition: PartitionNumber(0), lane: Lane::Outgoing(target) }
    }

    /// The same partition's timeline of another lane.
    #[must_use]
    pub const fn lane(self, lane: Lane) -> Self {
        Self { topic: self.topic, partition: self.partition, lane }
    }

    /// The stored form: topic, partition, lane, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.topic.0.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.partition.0.to_be_bytes());
        bytes[6..].copy_from_slice(&self.lane.to_bytes());
        bytes
    }

    /// The timeline of a stored form; `None` when it is not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let topic = bytes.get(..4)?.try_into().ok()?;
        let partition = bytes.get(4..6)?.try_into().ok()?;
        let lane: [u8; Lane::BYTES] = bytes.get(6..Self::BYTES)?.try_into().ok()?;
        (bytes.len() == Self::BYTES).then_some(())?;
        Some(Self {
            topic: TopicNumber(u32::from_be_bytes(topic)),
            partition: PartitionNumber(u16::from_be_bytes(partition)),
            lane: Lane::from_bytes(lane)?,
        })
    }
}
