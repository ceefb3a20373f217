//! One timeline: records by position, a floor, and the anchors above it.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Included},
};

use bytes::Bytes;
use punctual_types::{Counted, Mark, Offset, Position, Record, Seq, Time};

/// One timeline of a shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    records: BTreeMap<Position, Bytes>,
    floor: Mark,
    /// Marks above the floor, by position. Offsets rise with positions, so this is also their
    /// order by offset.
    anchors: BTreeMap<Position, Offset>,
}

impl Timeline {
    pub(crate) fn insert(&mut self, position: Position, record: Bytes) {
        self.records.insert(position, record);
    }

    pub(crate) fn remove(&mut self, position: Position) {
        self.records.remove(&position);
    }

    /// Removes what lies after `after` and up to `to` and was inserted no later than `seq_max`.
    pub(crate) fn remove_range(&mut self, after: Position, to: Position, seq_max: Seq) {
        let removed: Vec<Position> =
            self.between(after, to).map(|(position, _)| *position).filter(|position| position.seq <= seq_max).collect();
        for position in removed {
            self.records.remove(&position);
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
        // From the front and not by `retain`: a floor rises often and passes little each time.
        while self.records.first_key_value().is_some_and(|(position, _)| *position <= mark.position) {
            self.records.pop_first();
        }
        while self.anchors.first_key_value().is_some_and(|(position, _)| *position <= mark.position) {
            self.anchors.pop_first();
        }
    }

    /// Bytes of the records and their positions.
    pub(crate) fn bytes(&self) -> u64 {
        self.records.values().map(|record| (size_of::<Position>() + record.len()) as u64).sum()
    }

    pub(crate) fn record(&self, position: Position) -> Option<Bytes> {
        self.records.get(&position).cloned()
    }

    pub(crate) fn window(
        &self,
        after: Position,
        to: Position,
        limit: u32,
        bytes_max: u64,
        values: bool,
    ) -> Vec<Record> {
        let mut found = Vec::new();
        let mut bytes = 0;
        for (position, value) in self.between(after, to).take(limit as usize) {
            let value = if values { value.clone() } else { Bytes::new() };
            bytes += value.len() as u64;
            found.push(Record { position: *position, value });
            if bytes >= bytes_max {
                break;
            }
        }
        found
    }

    pub(crate) fn at_offset(&self, offset: Offset, limit: u32) -> Vec<Record> {
        let mark = self.marks().filter(|mark| mark.offset <= offset).last().unwrap_or(self.floor);
        let passed = offset.0.saturating_sub(mark.offset.0);
        self.between(mark.position, Position::MAX)
            .skip(usize::try_from(passed).unwrap_or(usize::MAX))
            .take(limit as usize)
            .map(|(position, value)| Record { position: *position, value: value.clone() })
            .collect()
    }

    pub(crate) fn offset_of(&self, position: Position) -> Option<Offset> {
        self.records.get(&position)?;
        // Strictly before: the record at a mark's own position is the last that the mark passed.
        let mark = self.marks().filter(|mark| mark.position < position).last()?;
        let before = self.records.range((Excluded(mark.position), Excluded(position))).count();
        Some(Offset(mark.offset.0 + before as u64))
    }

    pub(crate) fn count(&self, after: Position, to: Position, bucket_ms: u64) -> Vec<Counted> {
        let mut counts = BTreeMap::<u64, u64>::new();
        for (position, _) in self.between(after, to) {
            let due = position.due.unix_ms();
            *counts.entry(due - due % bucket_ms.max(1)).or_default() += 1;
        }
        counts
            .into_iter()
            .filter_map(|(from, count)| Some(Counted { from: Time::from_unix_ms(from)?, count }))
            .collect()
    }

    /// The floor and the anchors above it, in order.
    fn marks(&self) -> impl Iterator<Item = Mark> {
        let anchors = self.anchors.iter().map(|(position, offset)| Mark { offset: *offset, position: *position });
        std::iter::once(self.floor).chain(anchors)
    }

    fn between(&self, after: Position, to: Position) -> impl Iterator<Item = (&Position, &Bytes)> {
        // An empty range is legal to ask for, but `BTreeMap::range` panics on an inverted one.
        (after < to).then(|| self.records.range((Excluded(after), Included(to)))).into_iter().flatten()
    }
}
