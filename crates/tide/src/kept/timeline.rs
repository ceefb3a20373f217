//! One timeline of a shard: its wheel, its floor, and the anchors above the floor.

use std::{collections::BTreeMap, ops::ControlFlow};

use punctual_types::{Mark, Offset, Position, Seq};

use crate::wheel::{Entry, Span, Wheel};

/// One timeline of a shard.
#[derive(Default)]
pub(crate) struct Timeline {
    /// What lies above the floor, and nothing else.
    pub(crate) wheel: Wheel,
    floor: Mark,
    /// Marks above the floor, by position. Offsets rise with positions, so this is also their
    /// order by offset.
    anchors: BTreeMap<Position, Offset>,
}

/// Which part of a window is wanted.
pub(crate) struct Page {
    pub(crate) skip: u64,
    pub(crate) limit: u32,
    pub(crate) bytes_max: u64,
    /// Whether the records' bytes are wanted, and count.
    pub(crate) values: bool,
}

impl Timeline {
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
    }

    pub(crate) fn window(&mut self, span: Span, page: Page) -> Vec<Entry> {
        let (mut found, mut bytes, mut skipped) = (Vec::new(), 0, 0);
        self.wheel.walk(span, &mut |entry| {
            if skipped < page.skip {
                skipped += 1;
                return ControlFlow::Continue(());
            }
            bytes += if page.values { u64::from(entry.location.len) } else { 0 };
            found.push(entry);
            let is_full = found.len() >= page.limit as usize || bytes >= page.bytes_max;
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found
    }

    pub(crate) fn at_offset(&mut self, offset: Offset, limit: u32) -> Vec<Entry> {
        let anchors = self.anchors.iter().rev().map(|(position, offset)| Mark { offset: *offset, position: *position });
        let mark = anchors.into_iter().find(|mark| mark.offset <= offset).unwrap_or(self.floor);
        let span = Span { after: mark.position, to: Position::MAX };
        let skip = offset.0.saturating_sub(mark.offset.0);
        self.window(span, Page { skip, limit, bytes_max: u64::MAX, values: true })
    }

    pub(crate) fn offset_of(&mut self, position: Position) -> Option<Offset> {
        self.wheel.get(position)?;
        // Strictly before: the record at a mark's own position is the last that the mark passed.
        let anchor = self.anchors.range(..position).next_back();
        let mark = anchor.map_or(self.floor, |(position, offset)| Mark { offset: *offset, position: *position });
        // No record has sequence number 0, so the position before that of a record is one less.
        let before = Position::new(position.due, Seq(position.seq.0.saturating_sub(1)));
        let passed = self.wheel.count(Span { after: mark.position, to: before });
        Some(Offset(mark.offset.0 + passed))
    }
}
