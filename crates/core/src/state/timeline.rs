//! One timeline: where its line and floor stand.

use std::collections::BTreeMap;

use punctual_types::{Mark, MessageRef, Offset, Position, Seq, Time};

use super::crossings::Crossings;
use crate::format::timeline_state::TimelineState;

/// A message that came to its end while somebody held it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overdue {
    /// Whether it was counted as expired.
    pub(crate) counted: bool,
    /// Where the mark is that speaks of it next, and the message that it names.
    pub(crate) mark: Option<(Position, MessageRef)>,
}

/// A timeline as its shard knows it; the records are the store's.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The now-line: everything at or before it has crossed.
    pub(crate) line: Mark,
    /// Everything at or before it is dropped.
    pub(crate) floor: Mark,
    /// Records ahead of the line.
    pub(crate) scheduled: u64,
    /// No record ahead of the line is due before this; `None` when there is none at all.
    pub(crate) next_due: Option<Time>,
    /// The record that the line stopped at because it was not yet durable.
    pub(crate) blocked_on: Option<Seq>,
    /// When what crossed.
    pub(crate) crossings: Crossings,
    /// What has expired while it was leased. In memory only, as leases are.
    pub(crate) overdue: BTreeMap<Offset, Overdue>,
    /// Everything below it was looked at for its topic's retention.
    pub(crate) retained_to: Mark,
    /// Nothing above that outlives the retention before this.
    pub(crate) retain_at: Option<Time>,
    /// Nothing above the floor is old enough for it to rise before this.
    pub(crate) keep_at: Option<Time>,
}

impl Timeline {
    /// A timeline as it was stored. What is due next is not stored: the first advance finds it.
    pub(crate) fn load(state: TimelineState) -> Self {
        Self {
            line: state.line,
            floor: state.floor,
            scheduled: state.scheduled,
            next_due: None,
            blocked_on: None,
            crossings: Crossings::default(),
            overdue: BTreeMap::new(),
            retained_to: Mark::default(),
            retain_at: None,
            keep_at: None,
        }
    }

    pub(crate) fn state(&self) -> TimelineState {
        TimelineState { line: self.line, floor: self.floor, scheduled: self.scheduled }
    }

    /// When it is next to be looked at for what it has kept for long enough.
    pub(crate) fn deadline(&self) -> Option<Time> {
        [self.retain_at, self.keep_at].into_iter().flatten().min()
    }

    /// Whether a message at this position may still be cancelled or moved.
    pub(crate) fn is_ahead(&self, position: Position) -> bool {
        position > self.line.position
    }
}
