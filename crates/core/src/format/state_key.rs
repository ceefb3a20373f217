//! Names of the pieces of a shard's state.
//!
//! A key is a family byte and big-endian numbers, so that pieces of one thing lie together. The
//! families from 16 on belong to the catalog (`broker`), which keeps its entries on shard 0.

use crate::state::{PartitionId, TransferSource};
use bytes::{BufMut, Bytes, BytesMut};
use punctual_types::{Offset, PartitionNumber, ShardNumber, SubscriptionNumber, TimelineId, TopicNumber};

/// The first family byte that is not the core's.
pub const FIRST_FOREIGN_FAMILY: u8 = 16;

/// The name of a piece of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKey {
    /// The shard itself: sequence numbers, time, epoch.
    Shard,
    /// A timeline's line, floor and counts.
    Timeline(TimelineId),
    /// How far a subscription has come on a timeline.
    Reader(TimelineId, SubscriptionNumber),
    /// 1,024 bits of what a subscription acked above its floor.
    AckChunk(TimelineId, SubscriptionNumber, u64),
    /// Failed deliveries of a message that is back at its place.
    Failure(TimelineId, SubscriptionNumber, Offset),
    /// What a subscription did on a partition.
    SubscriptionTotals(TopicNumber, PartitionNumber, SubscriptionNumber),
    /// What happened on a partition.
    PartitionTotals(TopicNumber, PartitionNumber),
    /// Which transfers of a source have arrived.
    Arrived(TransferSource),
}

impl StateKey {
    /// The stored form.
    #[must_use]
    pub fn to_bytes(self) -> Bytes {
        let mut out = BytesMut::with_capacity(1 + TimelineId::BYTES + 12);
        match self {
            Self::Shard => out.put_u8(1),
            Self::Timeline(timeline) => {
                out.put_u8(2);
                out.put_slice(&timeline.to_bytes());
            }
            Self::Reader(timeline, subscription) => {
                out.put_u8(3);
                out.put_slice(&timeline.to_bytes());
                out.put_u32(subscription.0);
            }
            Self::AckChunk(timeline, subscription, chunk) => {
                out.put_u8(4);
                out.put_slice(&timeline.to_bytes());
                out.put_u32(subscription.0);
                out.put_u64(chunk);
            }
            Self::Failure(timeline, subscription, offset) => {
                out.put_u8(5);
                out.put_slice(&timeline.to_bytes());
                out.put_u32(subscription.0);
                out.put_u64(offset.0);
            }
            Self::SubscriptionTotals(topic, partition, subscription) => {
                out.put_u8(6);
                out.put_u32(topic.0);
                out.put_u16(partition.0);
                out.put_u32(subscription.0);
            }
            Self::PartitionTotals(topic, partition) => {
                out.put_u8(7);
                out.put_u32(topic.0);
                out.put_u16(partition.0);
            }
            Self::Arrived(source) => {
                out.put_u8(9);
                out.put_slice(&source.directory);
                out.put_u16(source.shard.0);
            }
        }
        out.freeze()
    }

    /// The partition that the piece belongs to, if to one.
    pub(crate) fn partition(self) -> Option<PartitionId> {
        match self {
            Self::Shard | Self::Arrived(_) => None,
            Self::Timeline(timeline)
            | Self::Reader(timeline, _)
            | Self::AckChunk(timeline, _, _)
            | Self::Failure(timeline, _, _) => Some(timeline.into()),
            Self::SubscriptionTotals(topic, partition, _) | Self::PartitionTotals(topic, partition) => {
                Some(PartitionId { topic, partition })
            }
        }
    }

    /// The key of a stored form; `None` when it is not one of the core's.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&family, rest) = bytes.split_first()?;
        let timeline = || TimelineId::from_bytes(rest.get(..TimelineId::BYTES)?);
        let tail = rest.get(TimelineId::BYTES..).unwrap_or_default();
        let subscription = |from: &[u8]| Some(SubscriptionNumber(u32::from_be_bytes(from.get(..4)?.try_into().ok()?)));
        let last = || Some(u64::from_be_bytes(tail.get(4..12)?.try_into().ok()?));
        let topic = || Some(TopicNumber(u32::from_be_bytes(rest.get(..4)?.try_into().ok()?)));
        let partition = || Some(PartitionNumber(u16::from_be_bytes(rest.get(4..6)?.try_into().ok()?)));
        let key = match family {
            1 => Self::Shard,
            2 => Self::Timeline(timeline()?),
            3 => Self::Reader(timeline()?, subscription(tail)?),
            4 => Self::AckChunk(timeline()?, subscription(tail)?, last()?),
            5 => Self::Failure(timeline()?, subscription(tail)?, Offset(last()?)),
            6 => Self::SubscriptionTotals(topic()?, partition()?, subscription(rest.get(6..)?)?),
            7 => Self::PartitionTotals(topic()?, partition()?),
            9 => {
                let (directory, shard) = rest.split_first_chunk::<16>()?;
                let shard = ShardNumber(u16::from_be_bytes(shard.try_into().ok()?));
                Self::Arrived(TransferSource { directory: *directory, shard })
            }
            _ => return None,
        };
        (key.to_bytes() == bytes).then_some(key)
    }
}
