//! Floors, in the keyspace `state`: shard, 2, timeline → mark.

use punctual_types::{ShardNumber, TimelineId};

use super::{Family, family};

/// Bytes of a key.
pub(crate) const BYTES: usize = 3 + TimelineId::BYTES;

/// The key of a floor.
pub(crate) fn key(shard: ShardNumber, timeline: TimelineId) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..3].copy_from_slice(&family(shard, Family::Floor));
    bytes[3..].copy_from_slice(&timeline.to_bytes());
    bytes
}

/// The timeline of a key; `None` when it is none.
pub(crate) fn timeline(key: &[u8]) -> Option<TimelineId> {
    TimelineId::from_bytes(key.get(3..)?)
}

#[cfg(test)]
mod tests {
    use super::{super::examples, *};

    #[test]
    fn a_floor_lies_under_shard_two_and_timeline() {
        let key = key(examples::SHARD, examples::TIMELINE);
        assert_eq!(key.as_slice(), [&[1, 2, 2], &examples::PREFIX[2..]].concat());
        assert_eq!(timeline(&key), Some(examples::TIMELINE));
    }
}
