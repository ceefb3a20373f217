//! Named state, in the keyspace `state`: shard, 1, name → value.

use bytes::Bytes;
use punctual_types::ShardNumber;

use super::{Family, family};

/// The key of a piece of named state.
pub(crate) fn key(shard: ShardNumber, name: &[u8]) -> Vec<u8> {
    [family(shard, Family::Named).as_slice(), name].concat()
}

/// The name in a key.
pub(crate) fn name(mut key: Bytes) -> Bytes {
    key.split_off(3.min(key.len()))
}

#[cfg(test)]
mod tests {
    use super::{super::examples, *};

    #[test]
    fn named_state_lies_under_shard_one_and_its_name() {
        let key = key(examples::SHARD, b"topic");
        assert_eq!(key, b"\x01\x02\x01topic");
        assert_eq!(name(key.into()), b"topic".as_slice());
        assert_eq!(name(Bytes::from(super::key(examples::SHARD, b""))), b"".as_slice());
    }
}
