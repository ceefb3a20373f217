//! Entries that lead from a caller's own handle to a message.

use crate::{PartitionNumber, Position, Time, TopicNumber};

/// A 128-bit keyed hash of a handle. 128 bits keep two handles apart for good; the key keeps a
/// hostile publisher from choosing handles that meet.
pub type HashBits = [u8; 16];

/// Which index of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IndexKind {
    /// From a message's `key`.
    Key = 1,
    /// From a message's `dedup_id`.
    Dedup = 2,
    /// From a message's own reference, for those that were moved, cancelled or delivered early.
    Message = 3,
    /// From a prepared message's own reference, to what was decided over it.
    Decision = 4,
}

/// An index entry's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexPlace {
    /// Which index.
    pub index: IndexKind,
    /// Of which topic.
    pub topic: TopicNumber,
    /// Of which of its partitions.
    pub partition: PartitionNumber,
    /// The hashed handle.
    pub hash: HashBits,
}

/// What an index knows of a message. Of fixed size; the meaning of `outcome` is `core`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The priority of the message.
    pub priority: u8,
    /// Where the message was first inserted, which makes its id.
    pub first: Position,
    /// Where the message stands now, or last stood.
    pub position: Position,
    /// What became of it; 0 while nothing but time decides.
    pub outcome: u8,
    /// When the entry was made or the outcome decided.
    pub at: Time,
    /// From when on the entry may be reclaimed. A store keeps it at least until then.
    pub expires_at: Time,
}
