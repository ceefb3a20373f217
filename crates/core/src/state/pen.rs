//! The batch that is being made.

use std::collections::BTreeSet;

use punctual_types::Write;

use super::PartitionId;
use crate::{Facts, format::StateKey};

/// Writes collected so far, and the pieces of state that have changed. A piece that many commands
/// of a batch touch is written once, when the batch is sealed.
#[derive(Debug, Default)]
pub(crate) struct Pen {
    pub(crate) writes: Vec<Write>,
    pub(crate) dirty: BTreeSet<StateKey>,
    /// Changed, and written along with whatever is written next: a lost change is harmless.
    pub(crate) lazy: BTreeSet<StateKey>,
    /// Partitions whose counts have changed.
    pub(crate) changed: BTreeSet<PartitionId>,
}

impl Pen {
    /// Adds a write, and makes the facts agree with it.
    pub(crate) fn write(&mut self, facts: &mut Facts, write: Write) {
        facts.note(&write);
        self.writes.push(write);
    }

    /// Notes that a piece of state has changed.
    pub(crate) fn touch(&mut self, key: StateKey) {
        self.changed.extend(key.partition());
        self.dirty.insert(key);
    }
}
