//! Records, in the keyspace `records`: shard, timeline, position → the record as it was given.

use punctual_types::{Position, ShardNumber, TimelineId};

use super::{PREFIX_BYTES, Prefix, position, prefix};

/// Bytes of a key.
pub(crate) const BYTES: usize = PREFIX_BYTES + position::BYTES;

/// The key of a record.
pub(crate) fn key(shard: ShardNumber, timeline: TimelineId, at: Position) -> [u8; BYTES] {
    key_under(prefix(shard, timeline), at)
}

/// The key of a record under a prefix.
pub(crate) fn key_under(prefix: Prefix, at: Position) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..PREFIX_BYTES].copy_from_slice(&prefix);
    bytes[PREFIX_BYTES..].copy_from_slice(&position::to_bytes(at));
    bytes
}

/// The parts of a key; `None` when it is none.
pub(crate) fn parts(key: &[u8]) -> Option<(Prefix, Position)> {
    let (prefix, mut rest) = key.split_first_chunk::<PREFIX_BYTES>()?;
    let position = position::take_position(&mut rest)?;
    rest.is_empty().then_some((*prefix, position))
}

#[cfg(test)]
mod tests {
    use super::{super::examples, *};

    #[test]
    fn a_record_lies_under_shard_timeline_and_position() {
        let key = key(examples::SHARD, examples::TIMELINE, examples::position());
        assert_eq!(key.as_slice(), [examples::PREFIX.as_slice(), &examples::POSITION].concat());
        assert_eq!(parts(&key), Some((examples::PREFIX, examples::position())));
        assert_eq!(parts(&key[1..]), None);
    }
}
