//! The stored forms: a file per family, all numbers big-endian so that keys sort as values do.
//!
//! docs/formats.md has them to the byte. Each file tests its own bytes: a test that must be
//! changed here is a change of format.

pub(crate) mod anchor;
pub(crate) mod floor;
pub(crate) mod index;
pub(crate) mod position;
pub(crate) mod record;
pub(crate) mod state;

use punctual_types::{ShardNumber, TimelineId};

/// Which family of the keyspace `state` a key belongs to: its third byte. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    /// Named state of the shard.
    Named = 1,
    /// Floors by timeline.
    Floor = 2,
    /// Anchors by timeline and offset.
    AnchorByOffset = 3,
    /// Anchors by timeline and position.
    AnchorByPosition = 4,
}

/// Bytes of a shard and a timeline, with which most keys begin.
pub(crate) const PREFIX_BYTES: usize = 2 + TimelineId::BYTES;

/// A shard and a timeline.
pub(crate) type Prefix = [u8; PREFIX_BYTES];

/// The stored form of a shard and a timeline.
pub(crate) fn prefix(shard: ShardNumber, timeline: TimelineId) -> Prefix {
    let mut bytes = [0; PREFIX_BYTES];
    bytes[..2].copy_from_slice(&shard.0.to_be_bytes());
    bytes[2..].copy_from_slice(&timeline.to_bytes());
    bytes
}

/// The first bytes of every key of a family of one shard.
pub(crate) fn family(shard: ShardNumber, family: Family) -> [u8; 3] {
    let [a, b] = shard.0.to_be_bytes();
    [a, b, family as u8]
}

/// Takes an array off the front of some bytes.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
pub(crate) mod examples {
    //! Values whose every byte can be told apart.

    use punctual_types::{
        Lane, PartitionNumber, Position, Seq, ShardNumber, SubscriptionNumber, Time, TimelineId, TopicNumber,
    };

    pub(crate) const SHARD: ShardNumber = ShardNumber(0x0102);
    pub(crate) const TIMELINE: TimelineId = TimelineId {
        topic: TopicNumber(0x0304_0506),
        partition: PartitionNumber(0x0708),
        lane: Lane::Retry(SubscriptionNumber(0x0a0b_0c0d)),
    };
    /// Shard, topic, partition, lane.
    pub(crate) const PREFIX: [u8; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 2, 0x0a, 0x0b, 0x0c, 0x0d];

    pub(crate) fn position() -> Position {
        Position::new(Time::from_unix_ms(0x1112_1314_1516).expect("in range"), Seq(0x2122_2324_2526_2728))
    }
    /// Due time, sequence number.
    pub(crate) const POSITION: [u8; 14] =
        [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28];

    #[test]
    fn a_prefix_is_shard_and_timeline() {
        assert_eq!(super::prefix(SHARD, TIMELINE), PREFIX);
    }
}
