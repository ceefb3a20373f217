//! Numbers that are names: a newtype each, so that one cannot be taken for another.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number! {
    /// A topic's number: given when the topic is made and never reused, so that a topic deleted
    /// and made again shares nothing with its past.
    TopicNumber(u32)
}
number! {
    /// A partition of a topic, from 0.
    PartitionNumber(u16)
}
number! {
    /// A subscription's number: never reused within its data directory.
    SubscriptionNumber(u32)
}
number! {
    /// A shard of a data directory, from 0.
    ShardNumber(u16)
}
number! {
    /// A shard's count of inserted records, from 1, in commit order; never reused.
    Seq(u64)
}
number! {
    /// A record's place among those that have crossed its timeline's now-line, from 0, dense.
    Offset(u64)
}
number! {
    /// Which try a delivery is, from 1.
    Attempt(u32)
}
number! {
    /// One ownership of a shard: raised whenever the shard is opened, so that receipts of an
    /// earlier ownership are told from those of this one.
    Epoch(u64)
}
number! {
    /// A consumer or a waiting receive call, for as long as it lives.
    ConsumerNumber(u64)
}
number! {
    /// A commit of a store, counted from 1 in the order in which commits were written.
    CommitNumber(u64)
}

impl Seq {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Offset {
    /// The offset after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The shard that keeps a partition.
///
/// `root` is the topic's placement number: its own number, or for a dead-letter topic the number
/// of the topic whose dead letters it takes, so that both sit on one shard and one batch can write
/// to both. Part of the stored format: changing it moves every message.
#[must_use]
pub const fn placement(root: TopicNumber, partition: PartitionNumber, shards: u16) -> ShardNumber {
    let spread = root.0 as u64 + partition.0 as u64;
    ShardNumber((spread % shards as u64) as u16)
}
