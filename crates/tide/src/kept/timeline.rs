//! One timeline of a shard: its wheel, its floor, the anchors above the floor, and what was removed
//! from runs.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use punctual_types::{Mark, Offset, Position, Seq};

use crate::{
    run::Removed,
    wheel::{Entry, Span, Wheel},
};

/// One timeline of a shard.
#[derive(Default)]
pub(crate) struct Timeline {
    /// What lies above the floor and in the journal, and nothing else.
    pub(crate) wheel: Wheel,
    pub(crate) floor: Mark,
    /// Marks above the floor, by position. Offsets rise with positions, so this is also their
    /// order by offset.
    pub(crate) anchors: BTreeMap<Position, Offset>,
    /// What was removed and may lie in a run. Shared with the readers of a moment.
    pub(crate) removed: Arc<Removed>,
}

impl Timeline {
    /// Removes a record, and notes so when it may lie in a run or be on its way there.
    pub(crate) fn remove(&mut self, position: Position, has_runs: bool, is_folding: bool) {
        let was_here = self.wheel.remove(position).is_some();
        if position > self.floor.position && (is_folding || has_runs && !was_here) {
            Arc::make_mut(&mut self.removed).remove(position);
        }
    }

    /// Removes what lies in a span and has at most this sequence number.
    pub(crate) fn remove_range(&mut self, span: Span, seq_max: Seq, may_be_in_run: bool) {
        self.wheel.remove_range(span, seq_max);
        if may_be_in_run && span.to > self.floor.position {
            Arc::make_mut(&mut self.removed).remove_range(span, seq_max);
        }
    }

    pub(crate) fn anchor(&mut self, mark: Mark) {
        if mark.position > self.floor.position {
            self.anchors.insert(mark.position, mark.offset);
        }
    }

    /// Drops what the floor has passed. Floors only rise: a lower one changes nothing.
    pub(crate) fn raise_floor(&mut self, mark: Mark) {
        if mark.position <= self.floor.position {
            return;
        }
        self.floor = mark;
        self.wheel.remove_up_to(mark.position);
        // From the front and not by `retain`: a floor rises often and passes little each time.
        while self.anchors.first_key_value().is_some_and(|(position, _)| *position <= mark.position) {
            self.anchors.pop_first();
        }
        if !self.removed.is_empty() {
            Arc::make_mut(&mut self.removed).forget_up_to(mark.position);
        }
    }

    /// The part of a span above the floor.
    pub(crate) fn above_floor(&self, span: Span) -> Span {
        Span { after: span.after.max(self.floor.position), to: span.to }
    }

    /// The first entries of a span: at most so many, and none behind the one that reaches so many bytes.
    pub(crate) fn entries(&mut self, span: Span, limit: u64, bytes_max: u64) -> Vec<Entry> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        self.wheel.walk(span, &mut |entry| {
            bytes += u64::from(entry.location.len);
            found.push(entry);
            let is_full = found.len() as u64 >= limit || bytes >= bytes_max;
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found
    }

    /// The last mark that has passed no more than this offset.
    pub(crate) fn mark_of(&self, offset: Offset) -> Mark {
        let mut marks =
            self.anchors.iter().rev().map(|(position, offset)| Mark { offset: *offset, position: *position });
        marks.find(|mark| mark.offset <= offset).unwrap_or(self.floor)
    }

    /// The last mark before a position. Strictly: the record at a mark's own position is the last
    /// that the mark passed.
    pub(crate) fn mark_before(&self, position: Position) -> Mark {
        let anchor = self.anchors.range(..position).next_back();
        anchor.map_or(self.floor, |(position, offset)| Mark { offset: *offset, position: *position })
    }
}
