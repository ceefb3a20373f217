//! One timeline: where its line and floor stand.

use punctual_types::{Mark, Position, Seq, Time};

use super::crossings::Crossings;
use crate::format::timeline_state::TimelineState;

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
        }
    }

    pub(crate) fn state(&self) -> TimelineState {
        TimelineState { line: self.line, floor: self.floor, scheduled: self.scheduled }
    }

    /// Whether a message at this position may still be cancelled or moved.
    pub(crate) fn is_ahead(&self, position: Position) -> bool {
        position > self.line.position
    }
}
