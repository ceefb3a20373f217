//! What a message id says: the first place of its message.

use crate::{Lane, PartitionNumber, Position, TimelineId, TopicNumber};

/// A message by the place where it was first inserted.
///
/// No index leads from ids to positions: the id carries the position. A message that was moved
/// (rescheduled) has an entry in the message index under this reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageRef {
    /// The topic it was published to.
    pub topic: TopicNumber,
    /// The partition it was put into.
    pub partition: PartitionNumber,
    /// Its priority, which is the lane it stands in.
    pub priority: u8,
    /// Where it was first inserted.
    pub first: Position,
}

impl MessageRef {
    /// Bytes of the stored form.
    pub const BYTES: usize = 4 + 2 + 1 + Position::BYTES;

    /// The timeline it was first inserted into.
    #[must_use]
    pub const fn timeline(self) -> TimelineId {
        TimelineId { topic: self.topic, partition: self.partition, lane: Lane::Priority(self.priority) }
    }

    /// The stored form, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.topic.0.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.partition.0.to_be_bytes());
        bytes[6] = self.priority;
        bytes[7..].copy_from_slice(&self.first.to_bytes());
        bytes
    }

    /// The reference of a stored form; `None` when it is not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        Some(Self {
            topic: TopicNumber(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?)),
            partition: PartitionNumber(u16::from_be_bytes(bytes.get(4..6)?.try_into().ok()?)),
            priority: bytes[6],
            first: Position::from_bytes(bytes.get(7..)?)?,
        })
    }
}
