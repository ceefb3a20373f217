//! What a shard asks of its store.

use bytes::Bytes;

use crate::{IndexEntry, IndexPlace, Offset, Position, Time, TimelineId};

/// A question to a store. Answers see every batch that was written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// Records in position order above the floor.
    Window {
        /// Of which timeline.
        timeline: TimelineId,
        /// After this position, exclusive.
        after: Position,
        /// Up to this position, inclusive.
        to: Position,
        /// At most so many; at least 1.
        limit: u32,
        /// Stop after the record that reaches so many bytes of values; at least one is answered.
        bytes_max: u64,
        /// Whether the records are wanted, or only their positions (records then come empty).
        values: bool,
    },
    /// The record at a position above the floor, if there is one.
    Record {
        /// Of which timeline.
        timeline: TimelineId,
        /// At which position.
        position: Position,
    },
    /// Records from an offset on, behind the line. Counted from the nearest anchor or the floor.
    AtOffset {
        /// Of which timeline.
        timeline: TimelineId,
        /// The first wanted; at or above the floor's offset.
        offset: Offset,
        /// At most so many; at least 1.
        limit: u32,
    },
    /// The offset that the record at a position behind the line has, if there is such a record.
    OffsetOf {
        /// Of which timeline.
        timeline: TimelineId,
        /// At which position.
        position: Position,
    },
    /// An index entry, if there is one. One that has expired may or may not be answered.
    Lookup(IndexPlace),
    /// How many records lie in each bucket of a range; empty buckets are left out.
    Count {
        /// Of which timeline.
        timeline: TimelineId,
        /// After this position, exclusive.
        after: Position,
        /// Up to this position, inclusive.
        to: Position,
        /// Bucket width in milliseconds, a whole number of minutes; buckets start at multiples of it.
        bucket_ms: u64,
    },
}

/// A record as it was inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it stands.
    pub position: Position,
    /// What was inserted; empty when only positions were asked for.
    pub value: Bytes,
}

/// A bucket of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The first millisecond of the bucket.
    pub from: Time,
    /// How many records are due in it.
    pub count: u64,
}

/// The answer to the [`Read`] of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadReply {
    /// To `Window` and `AtOffset`.
    Records(Vec<Record>),
    /// To `Record`.
    Record(Option<Bytes>),
    /// To `OffsetOf`.
    Offset(Option<Offset>),
    /// To `Lookup`.
    Entry(Option<IndexEntry>),
    /// To `Count`.
    Counts(Vec<Counted>),
}
