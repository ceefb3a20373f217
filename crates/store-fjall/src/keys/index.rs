//! Index entries, in the keyspace `index`: shard, kind, topic, partition, hash → entry of 42 bytes.

use punctual_types::{IndexEntry, IndexPlace, ShardNumber, Time};

use super::{position, take};

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 2 + 1 + 4 + 2 + 16;
/// Bytes of an entry.
pub(crate) const VALUE_BYTES: usize = 1 + position::BYTES + position::BYTES + 1 + 6 + 6;

/// The key of an entry.
pub(crate) fn key(shard: ShardNumber, place: IndexPlace) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    bytes[..2].copy_from_slice(&shard.0.to_be_bytes());
    bytes[2] = place.index as u8;
    bytes[3..7].copy_from_slice(&place.topic.0.to_be_bytes());
    bytes[7..9].copy_from_slice(&place.partition.0.to_be_bytes());
    bytes[9..].copy_from_slice(&place.hash);
    bytes
}

/// The shard of a key; `None` when it is too short to have one.
pub(crate) fn shard(key: &[u8]) -> Option<ShardNumber> {
    key.first_chunk().map(|bytes| ShardNumber(u16::from_be_bytes(*bytes)))
}

/// The stored form of an entry: priority, first, position, outcome, at, expires at.
pub(crate) fn value(entry: IndexEntry) -> [u8; VALUE_BYTES] {
    let mut bytes = [0; VALUE_BYTES];
    bytes[0] = entry.priority;
    bytes[1..15].copy_from_slice(&position::to_bytes(entry.first));
    bytes[15..29].copy_from_slice(&position::to_bytes(entry.position));
    bytes[29] = entry.outcome;
    bytes[30..36].copy_from_slice(&position::time_to_bytes(entry.at));
    bytes[36..].copy_from_slice(&position::time_to_bytes(entry.expires_at));
    bytes
}

/// The entry of a stored form; `None` when it is none.
pub(crate) fn entry(mut bytes: &[u8]) -> Option<IndexEntry> {
    let [priority] = take(&mut bytes)?;
    let first = position::take_position(&mut bytes)?;
    let position = position::take_position(&mut bytes)?;
    let [outcome] = take(&mut bytes)?;
    let at = position::take_time(&mut bytes)?;
    let expires_at = position::take_time(&mut bytes)?;
    bytes.is_empty().then_some(IndexEntry { priority, first, position, outcome, at, expires_at })
}

/// When an entry expires; `None` when the bytes are none.
pub(crate) fn expires_at(bytes: &[u8]) -> Option<Time> {
    entry(bytes).map(|entry| entry.expires_at)
}

#[cfg(test)]
mod tests {
    use punctual_types::{IndexKind, PartitionNumber, Position, Seq, TopicNumber};

    use super::{super::examples, *};

    #[test]
    fn an_entry_lies_under_shard_kind_topic_partition_and_hash() {
        let place = IndexPlace {
            index: IndexKind::Dedup,
            topic: TopicNumber(0x0304_0506),
            partition: PartitionNumber(0x0708),
            hash: *b"0123456789abcdef",
        };
        assert_eq!(key(examples::SHARD, place).as_slice(), b"\x01\x02\x02\x03\x04\x05\x06\x07\x080123456789abcdef");
        for (kind, byte) in [(IndexKind::Key, 1), (IndexKind::Dedup, 2), (IndexKind::Message, 3)] {
            assert_eq!(key(examples::SHARD, IndexPlace { index: kind, ..place })[2], byte);
        }
    }

    #[test]
    fn an_entry_is_forty_two_bytes() {
        let time = |ms| Time::from_unix_ms(ms).expect("in range");
        let entry = IndexEntry {
            priority: 0x41,
            first: examples::position(),
            position: Position::new(time(0x51), Seq(0x52)),
            outcome: 0x61,
            at: time(0x71),
            expires_at: Time::MAX,
        };
        let mut bytes = vec![0x41];
        bytes.extend(examples::POSITION);
        bytes.extend([0, 0, 0, 0, 0, 0x51, 0, 0, 0, 0, 0, 0, 0, 0x52]);
        bytes.push(0x61);
        bytes.extend([0, 0, 0, 0, 0, 0x71]);
        bytes.extend([0xe6, 0x77, 0xd2, 0x1f, 0xdb, 0xff]);
        assert_eq!(value(entry).as_slice(), bytes);
        assert_eq!(super::entry(&bytes), Some(entry));
        assert_eq!(super::entry(&bytes[1..]), None);
    }
}
