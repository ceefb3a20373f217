//! The wheel: where the records of one timeline lie, by position, of which nothing is sorted that
//! nobody has read.
//!
//! ```text
//!   level 7   one slot = 139 years ┐
//!   level 6              2.2 years │ 64 slots a level, six bits of the due time each;
//!   level 5              12 days   │ 8 levels of 6 bits reach from 1970 past the year 9999
//!   ...                            │
//!   level 1              64 ms     │
//!   level 0               1 ms     ┘
//! ```
//!
//! A new entry is appended to the slot in whose time it is due. A slot that gets too many entries
//! opens into the 64 finer slots of the level below, so slots are coarse where little is due and
//! fine where much is, however far away that is. Nothing ever moves because time passes: there is
//! no base, no cascade, and no edge at which an entry could be early or lost. Entries of one
//! millisecond that are too many for a slot go into a map sorted by sequence number.
//!
//! A slot is sorted when a reader first needs its order; it holds so few that this costs little.

mod slot;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, ops::ControlFlow};

use punctual_types::{Position, Seq};

use crate::journal::Location;
use slot::Slot;

/// A record that was inserted: where it stands and where its bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) position: Position,
    pub(crate) location: Location,
}

/// A range of positions: after one, exclusive, up to another, inclusive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) after: Position,
    pub(crate) to: Position,
}

/// The entries of one timeline.
#[derive(Default)]
pub(crate) struct Wheel {
    root: Slot,
}

impl Span {
    pub(crate) fn contains(&self, position: Position) -> bool {
        position > self.after && position <= self.to
    }
}

impl Wheel {
    /// Puts an entry in; one at the same position is replaced or stays beside it, so callers do not.
    pub(crate) fn insert(&mut self, entry: Entry) {
        self.root.insert(entry, slot::TOP);
    }

    /// Takes an entry out, if it is there.
    pub(crate) fn remove(&mut self, position: Position) -> Option<Entry> {
        self.root.remove(position, slot::TOP)
    }

    /// Takes out what lies in a span and has at most this sequence number.
    pub(crate) fn remove_range(&mut self, span: Span, seq_max: Seq) {
        self.root.retain(span, slot::TOP, 0, &|entry| entry.position.seq > seq_max);
    }

    /// Takes out everything up to a position, whole slots at once.
    pub(crate) fn remove_up_to(&mut self, position: Position) {
        // No record stands at the least position: sequence numbers begin at 1.
        self.root.retain(Span { after: Position::MIN, to: position }, slot::TOP, 0, &|_| false);
    }

    /// Keeps only what is asked for.
    pub(crate) fn retain(&mut self, keep: &dyn Fn(Entry) -> bool) {
        self.root.retain(Span { after: Position::MIN, to: Position::MAX }, slot::TOP, 0, keep);
    }

    /// The entry at a position.
    pub(crate) fn get(&mut self, position: Position) -> Option<Entry> {
        self.root.get(position, slot::TOP)
    }

    /// Shows the entries of a span in order until told to stop.
    pub(crate) fn walk(&mut self, span: Span, show: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        if span.after < span.to {
            // Whether it was stopped is the caller's to know.
            let _ = self.root.walk(span, slot::TOP, 0, show);
        }
    }

    /// How many entries lie in a span; slots within it are counted whole.
    pub(crate) fn count(&self, span: Span) -> u64 {
        let mut sum = 0;
        self.tally(span, u64::MAX, &mut |_, count| sum += count);
        sum
    }

    /// How many entries lie in each bucket of a span, in order; empty buckets are left out.
    pub(crate) fn count_by(&self, span: Span, bucket_ms: u64) -> BTreeMap<u64, u64> {
        let mut counts = BTreeMap::new();
        self.tally(span, bucket_ms, &mut |due, count| *counts.entry(due - due % bucket_ms).or_default() += count);
        counts
    }

    /// Tells how many entries are due within the bucket of a time; slots within one bucket at once.
    fn tally(&self, span: Span, bucket_ms: u64, tell: &mut dyn FnMut(u64, u64)) {
        if span.after < span.to {
            self.root.tally(span, slot::TOP, 0, bucket_ms, tell);
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> u64 {
        self.root.len()
    }
}
