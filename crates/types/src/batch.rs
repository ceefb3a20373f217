//! What a shard asks its store to keep.

use bytes::Bytes;

use crate::{IndexEntry, IndexPlace, Mark, Position, Time, TimelineId};

/// Writes that become visible and durable together or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Broker time when the batch was made. Index entries that expired before it may be reclaimed.
    pub now: Time,
    /// The writes, in order.
    pub writes: Vec<Write>,
}

/// One write of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Insert a record. No record has this position yet, and its sequence number is higher than
    /// any that the shard inserted before.
    Insert {
        /// On which timeline.
        timeline: TimelineId,
        /// At which position.
        position: Position,
        /// The record, which a store gives back unchanged and never looks into.
        record: Bytes,
    },
    /// Remove a record ahead of the line.
    Remove {
        /// From which timeline.
        timeline: TimelineId,
        /// At which position.
        position: Position,
    },
    /// Remove every record ahead of the line that lies in the range and has at most the given
    /// sequence number: what is inserted later at such a position stays.
    RemoveRange {
        /// From which timeline.
        timeline: TimelineId,
        /// After this position, exclusive.
        after: Position,
        /// Up to this position, inclusive.
        to: Position,
        /// The highest sequence number inserted when the range was removed.
        seq_max: crate::Seq,
    },
    /// Put an index entry, in place of an earlier one.
    PutIndex {
        /// Where.
        place: IndexPlace,
        /// What.
        entry: IndexEntry,
    },
    /// Remember an anchor behind the line, so that `AtOffset` need not count from the floor.
    Anchor {
        /// Of which timeline.
        timeline: TimelineId,
        /// The anchor.
        mark: Mark,
    },
    /// Everything at or before the mark is dropped: it is no longer read, and its space may be
    /// reclaimed at any time. Floors only rise.
    RaiseFloor {
        /// Of which timeline.
        timeline: TimelineId,
        /// The new floor.
        mark: Mark,
    },
    /// Set a piece of the shard's named state, or forget it (`None`).
    SetState {
        /// Its name, unique within the shard; made by `core::format`.
        key: Bytes,
        /// Its value.
        value: Option<Bytes>,
    },
}
