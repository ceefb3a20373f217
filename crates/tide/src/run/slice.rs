//! What the runs have of one timeline, without what was removed from it since.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::IntoIter,
};

use bytes::Bytes;
use punctual_store_api::StoreError;
use punctual_types::{Position, Record, Seq, ShardNumber, TimelineId};

use super::{BlockPlace, Run, block};
use crate::wheel::Span;

/// What was removed from a timeline after it had gone to a run, or while it went there.
#[derive(Clone, Default)]
pub(crate) struct Removed {
    positions: BTreeSet<Position>,
    ranges: Vec<(Span, Seq)>,
}

/// The runs' records of one timeline, as of one moment.
pub(crate) struct Slice {
    pub(crate) shard: ShardNumber,
    pub(crate) timeline: TimelineId,
    pub(crate) runs: Arc<[Arc<Run>]>,
    pub(crate) removed: Arc<Removed>,
}

impl Removed {
    pub(crate) fn remove(&mut self, position: Position) {
        self.positions.insert(position);
    }

    pub(crate) fn remove_range(&mut self, span: Span, seq_max: Seq) {
        if span.after >= span.to {
            return;
        }
        match self.ranges.last_mut() {
            // A long range comes in pieces, one behind the other.
            Some((last, last_seq_max)) if last.to == span.after && *last_seq_max == seq_max => last.to = span.to,
            Some(_) | None => self.ranges.push((span, seq_max)),
        }
    }

    /// Forgets single positions at which no run has a record any more.
    pub(crate) fn forget(&mut self, positions: impl Iterator<Item = Position>) {
        for position in positions {
            self.positions.remove(&position);
        }
    }

    /// Forgets what a floor has passed: it hides as well.
    pub(crate) fn forget_up_to(&mut self, floor: Position) {
        self.positions = self.positions.split_off(&floor);
        self.positions.remove(&floor);
        self.ranges.retain(|(span, _)| span.to > floor);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.positions.is_empty() && self.ranges.is_empty()
    }

    pub(crate) fn positions(&self) -> impl Iterator<Item = Position> {
        self.positions.iter().copied()
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = (Span, Seq)> {
        self.ranges.iter().copied()
    }

    pub(crate) fn has(&self, position: Position) -> bool {
        let in_range = |(span, seq_max): &(Span, Seq)| position.seq <= *seq_max && span.contains(position);
        self.positions.contains(&position) || self.ranges.iter().any(in_range)
    }

    /// Whether something between two positions, inclusive, may have been removed.
    fn touches(&self, first: Position, last: Position) -> bool {
        let in_range = |(span, _): &(Span, Seq)| span.after < last && span.to >= first;
        self.positions.range(first..=last).next().is_some() || self.ranges.iter().any(in_range)
    }
}

impl Slice {
    /// The record at a position; at most one block is read.
    pub(crate) fn record(&self, position: Position) -> Result<Option<Bytes>, StoreError> {
        if self.removed.has(position) {
            return Ok(None);
        }
        for run in self.runs.iter().filter(|run| run.may_have(self.shard, position.seq)) {
            let blocks = run.blocks(self.shard, self.timeline);
            let place = blocks.partition_point(|block| block.last < position);
            if let Some(place) = blocks.get(place).filter(|block| block.first <= position) {
                let records = read(run, *place)?;
                let found = records.binary_search_by_key(&position, |record| record.position);
                if let Some(record) = found.ok().and_then(|at| records.get(at)) {
                    return Ok(Some(record.value.clone()));
                }
            }
        }
        Ok(None)
    }

    /// The records of a span in order, read block by block as they are asked for.
    pub(crate) fn records(&self, span: Span) -> Records<'_> {
        let cursors = self.runs.iter().filter_map(|run| {
            let blocks = run.blocks(self.shard, self.timeline);
            let begin = blocks.partition_point(|block| block.last <= span.after);
            let end = blocks.partition_point(|block| block.first <= span.to);
            let blocks = blocks.get(begin..end).filter(|blocks| !blocks.is_empty())?;
            Some(Cursor { run, blocks, records: Vec::new().into_iter(), next: None })
        });
        let cursors = if span.after < span.to { cursors.collect() } else { Vec::new() };
        Records { removed: &self.removed, span, cursors }
    }

    /// How many records lie in a span.
    pub(crate) fn count(&self, span: Span) -> Result<u64, StoreError> {
        Ok(self.count_by(span, u64::MAX)?.values().sum())
    }

    /// How many records lie in each bucket of a span. Blocks that lie within both are not read.
    pub(crate) fn count_by(&self, span: Span, bucket_ms: u64) -> Result<BTreeMap<u64, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        let bucket = |position: Position| position.due.unix_ms() / bucket_ms * bucket_ms;
        for run in self.runs.iter() {
            for place in run.blocks(self.shard, self.timeline).iter().filter(|block| block.touches(span)) {
                let is_whole = place.is_within(span) && bucket(place.first) == bucket(place.last);
                if is_whole && !self.removed.touches(place.first, place.last) {
                    *counts.entry(bucket(place.first)).or_default() += u64::from(place.records);
                    continue;
                }
                for position in read(run, *place)?.into_iter().map(|record| record.position) {
                    if span.contains(position) && !self.removed.has(position) {
                        *counts.entry(bucket(position)).or_default() += 1;
                    }
                }
            }
        }
        Ok(counts)
    }
}

fn read(run: &Run, place: BlockPlace) -> Result<Vec<Record>, StoreError> {
    let records = block::records(&run.block(place)?).filter(|records| records.len() == place.records as usize);
    records.ok_or_else(|| run.damaged(place))
}

/// A walk through one run.
struct Cursor<'a> {
    run: &'a Run,
    blocks: &'a [BlockPlace],
    records: IntoIter<Record>,
    next: Option<Record>,
}

/// A walk through all runs at once, in order.
pub(crate) struct Records<'a> {
    removed: &'a Removed,
    span: Span,
    cursors: Vec<Cursor<'a>>,
}

impl Cursor<'_> {
    /// Looks at the next record that is wanted; `None` at the end.
    fn peek(&mut self, is_wanted: &impl Fn(Position) -> bool) -> Result<Option<Position>, StoreError> {
        while self.next.is_none() {
            match self.records.next() {
                Some(record) => self.next = Some(record).filter(|record| is_wanted(record.position)),
                None => {
                    let Some((place, rest)) = self.blocks.split_first() else { return Ok(None) };
                    self.blocks = rest;
                    self.records = read(self.run, *place)?.into_iter();
                }
            }
        }
        Ok(self.next.as_ref().map(|record| record.position))
    }
}

impl Records<'_> {
    /// The position of the next record; `None` at the end.
    pub(crate) fn peek(&mut self) -> Result<Option<Position>, StoreError> {
        Ok(self.first()?.map(|(position, _)| position))
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, StoreError> {
        let Some((_, index)) = self.first()? else { return Ok(None) };
        Ok(self.cursors.get_mut(index).and_then(|cursor| cursor.next.take()))
    }

    fn first(&mut self) -> Result<Option<(Position, usize)>, StoreError> {
        let (span, removed) = (self.span, self.removed);
        let is_wanted = |position| span.contains(position) && !removed.has(position);
        let mut first = None;
        for (index, cursor) in self.cursors.iter_mut().enumerate() {
            if let Some(position) = cursor.peek(&is_wanted)? {
                first = first.into_iter().chain([(position, index)]).min();
            }
        }
        Ok(first)
    }
}
