//! Anchors, in the keyspace `state`, each under two keys so that it is found from either side:
//! shard, 3, timeline, offset → position, and shard, 4, timeline, position → offset.

use punctual_types::{Mark, Offset, Position, ShardNumber, TimelineId};

use super::{Family, PREFIX_BYTES, Prefix, family, position, take};

const TIMELINE_ENDS: usize = 3 + TimelineId::BYTES;
/// Bytes of a key that ends with an offset.
pub(crate) const BY_OFFSET_BYTES: usize = TIMELINE_ENDS + 8;
/// Bytes of a key that ends with a position.
pub(crate) const BY_POSITION_BYTES: usize = TIMELINE_ENDS + position::BYTES;

/// The key from an offset.
pub(crate) fn by_offset(shard: ShardNumber, timeline: TimelineId, offset: Offset) -> [u8; BY_OFFSET_BYTES] {
    let mut bytes = [0; BY_OFFSET_BYTES];
    bytes[..3].copy_from_slice(&family(shard, Family::AnchorByOffset));
    bytes[3..TIMELINE_ENDS].copy_from_slice(&timeline.to_bytes());
    bytes[TIMELINE_ENDS..].copy_from_slice(&offset.0.to_be_bytes());
    bytes
}

/// The key from a position.
pub(crate) fn by_position(shard: ShardNumber, timeline: TimelineId, at: Position) -> [u8; BY_POSITION_BYTES] {
    let mut bytes = [0; BY_POSITION_BYTES];
    bytes[..3].copy_from_slice(&family(shard, Family::AnchorByPosition));
    bytes[3..TIMELINE_ENDS].copy_from_slice(&timeline.to_bytes());
    bytes[TIMELINE_ENDS..].copy_from_slice(&position::to_bytes(at));
    bytes
}

/// The value under an offset.
pub(crate) fn position_value(mark: Mark) -> [u8; position::BYTES] {
    position::to_bytes(mark.position)
}

/// The value under a position.
pub(crate) fn offset_value(mark: Mark) -> [u8; 8] {
    mark.offset.0.to_be_bytes()
}

/// The anchor of a pair of either kind, and under which shard and timeline; `None` when the pair
/// is not an anchor.
pub(crate) fn mark(key: &[u8], mut value: &[u8]) -> Option<(Prefix, Mark)> {
    let mut rest = key;
    let [shard_a, shard_b, family] = take(&mut rest)?;
    let timeline: [u8; TimelineId::BYTES] = take(&mut rest)?;
    let (offset, position) = if family == Family::AnchorByOffset as u8 {
        (take(&mut rest)?, position::take_position(&mut value)?)
    } else if family == Family::AnchorByPosition as u8 {
        let position = position::take_position(&mut rest)?;
        (take(&mut value)?, position)
    } else {
        return None;
    };
    if !rest.is_empty() || !value.is_empty() {
        return None;
    }
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..2].copy_from_slice(&[shard_a, shard_b]);
    prefix[2..].copy_from_slice(&timeline);
    Some((prefix, Mark { offset: Offset(u64::from_be_bytes(offset)), position }))
}

#[cfg(test)]
mod tests {
    use super::{super::examples, *};

    const OFFSET: [u8; 8] = [0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38];

    #[test]
    fn an_anchor_is_found_by_offset_and_by_position() {
        let anchor = Mark { offset: Offset(u64::from_be_bytes(OFFSET)), position: examples::position() };
        let timeline = &examples::PREFIX[2..];

        let key = by_offset(examples::SHARD, examples::TIMELINE, anchor.offset);
        assert_eq!(key.as_slice(), [&[1, 2, 3], timeline, &OFFSET].concat());
        assert_eq!(position_value(anchor), examples::POSITION);
        assert_eq!(mark(&key, &examples::POSITION), Some((examples::PREFIX, anchor)));

        let key = by_position(examples::SHARD, examples::TIMELINE, anchor.position);
        assert_eq!(key.as_slice(), [&[1, 2, 4], timeline, &examples::POSITION].concat());
        assert_eq!(offset_value(anchor), OFFSET);
        assert_eq!(mark(&key, &OFFSET), Some((examples::PREFIX, anchor)));

        assert_eq!(mark(&key, &OFFSET[1..]), None);
    }
}
