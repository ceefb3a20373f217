//! What a shard keeps: timelines, index entries and named state, as far as it is in memory.

mod answer;
mod timeline;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use punctual_types::{DelayMs, IndexEntry, IndexPlace, Position, ShardNumber, Time, TimelineId, Write};

use crate::{
    batch::{NoBatch, Step, Steps},
    journal::{Location, SegmentNumber},
    run::{Removed, Run},
    wheel::{Entry, Span},
};
use timeline::Timeline;

/// How much broker time passes between two sweeps of expired index entries: a sweep looks at
/// every entry.
const SWEEP_EVERY: DelayMs = DelayMs::from_secs(60);

/// Everything that a shard keeps.
pub(crate) struct Kept {
    shard: ShardNumber,
    timelines: HashMap<TimelineId, Timeline>,
    index: HashMap<IndexPlace, IndexEntry>,
    state: BTreeMap<Bytes, Bytes>,
    state_bytes: usize,
    entries: u64,
    swept: Time,
    /// Where the records lie that the wheels no longer have.
    runs: Arc<[Arc<Run>]>,
    /// Whether records of the wheels are on their way to a run.
    is_folding: bool,
}

/// Where the payload of a batch lies, so that its records can be found again.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) segment: SegmentNumber,
    pub(crate) at: u32,
}

impl Kept {
    /// A shard that keeps nothing but what the runs have of it.
    pub(crate) fn new(shard: ShardNumber, runs: Arc<[Arc<Run>]>) -> Self {
        Self {
            shard,
            timelines: HashMap::new(),
            index: HashMap::new(),
            state: BTreeMap::new(),
            state_bytes: 0,
            entries: 0,
            swept: Time::ZERO,
            runs,
            is_folding: false,
        }
    }

    /// Does what a batch says. It is the same at a commit and at a restart.
    pub(crate) fn apply(&mut self, payload: &[u8], place: Place) -> Result<(), NoBatch> {
        let (now, steps) = Steps::of(payload)?;
        for step in steps {
            self.step(step?, place);
        }
        if now.since(self.swept) >= SWEEP_EVERY {
            // "Before", as `Batch::now` says: an entry that expires at `now` is kept.
            self.index.retain(|_, entry| entry.expires_at >= now);
            self.swept = now;
        }
        Ok(())
    }

    fn step(&mut self, step: Step<'_>, place: Place) {
        let (has_runs, is_folding) = (!self.runs.is_empty(), self.is_folding);
        match step {
            Step::Insert { timeline, position, record } => {
                let location = Location { segment: place.segment, at: place.at + record.at, len: record.len };
                self.change(timeline, |timeline| timeline.wheel.insert(Entry { position, location }));
            }
            Step::Remove { timeline, position } => {
                self.change(timeline, |timeline| timeline.remove(position, has_runs, is_folding));
            }
            Step::RemoveRange { timeline, after, to, seq_max } => {
                let span = Span { after, to };
                self.change(timeline, |timeline| timeline.remove_range(span, seq_max, has_runs || is_folding));
            }
            Step::Anchor { timeline, mark } => self.change(timeline, |timeline| timeline.anchor(mark)),
            Step::RaiseFloor { timeline, mark } => self.change(timeline, |timeline| timeline.raise_floor(mark)),
            Step::PutIndex { place, entry } => {
                self.index.insert(place, entry);
            }
            Step::SetState { key, value } => self.set_state(key, value),
        }
    }

    fn change(&mut self, id: TimelineId, change: impl FnOnce(&mut Timeline)) {
        let timeline = self.timelines.entry(id).or_default();
        let before = timeline.wheel.len();
        change(timeline);
        self.entries = self.entries + timeline.wheel.len() - before;
    }

    /// Copies what it keeps: a slice would keep the whole batch in memory.
    fn set_state(&mut self, key: &[u8], value: Option<&[u8]>) {
        let before = self.state.remove(key).map_or(0, |value| key.len() + value.len());
        let after = value.map_or(0, |value| {
            self.state.insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
            key.len() + value.len()
        });
        self.state_bytes = self.state_bytes + after - before;
    }

    pub(crate) fn state(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.state.iter()
    }

    /// From now on notes what is removed, for it may be on its way to a run; or no longer.
    pub(crate) fn set_folding(&mut self, is_folding: bool) {
        self.is_folding = is_folding;
    }

    /// The timelines, in order.
    pub(crate) fn timelines(&self) -> Vec<TimelineId> {
        let mut timelines: Vec<TimelineId> = self.timelines.keys().copied().collect();
        timelines.sort_unstable();
        timelines
    }

    /// The entries of a timeline, in order.
    pub(crate) fn entries(&mut self, timeline: TimelineId) -> Vec<Entry> {
        let all = Span { after: Position::MIN, to: Position::MAX };
        self.timelines.get_mut(&timeline).map(|timeline| timeline.entries(all, u64::MAX, u64::MAX)).unwrap_or_default()
    }

    /// Which of some entries of a timeline are still here.
    pub(crate) fn present(&mut self, timeline: TimelineId, entries: &[Entry]) -> Vec<Entry> {
        let Some(timeline) = self.timelines.get_mut(&timeline) else { return Vec::new() };
        entries.iter().filter(|entry| timeline.wheel.get(entry.position).is_some()).copied().collect()
    }

    /// The floor of a timeline.
    pub(crate) fn floor(&self, timeline: TimelineId) -> Position {
        self.timelines.get(&timeline).map_or(Position::MIN, |timeline| timeline.floor.position)
    }

    /// Takes out what lies in the journal's segments up to one, and looks for it in runs instead.
    pub(crate) fn adopt(&mut self, folded: SegmentNumber, runs: Arc<[Arc<Run>]>) {
        for timeline in self.timelines.values_mut() {
            timeline.wheel.retain(&|entry| entry.location.segment > folded);
        }
        self.entries = self.timelines.values().map(|timeline| timeline.wheel.len()).sum();
        self.runs = runs;
        self.is_folding = false;
    }

    /// The floor of a timeline, and what was removed from its runs, as of this moment.
    pub(crate) fn gone(&self, timeline: TimelineId) -> (Position, Arc<Removed>) {
        let kept = self.timelines.get(&timeline);
        kept.map_or_else(Default::default, |kept| (kept.floor.position, kept.removed.clone()))
    }

    /// Looks into other runs from now on: some were merged, without what was left out.
    pub(crate) fn set_runs(
        &mut self,
        merged: &[Arc<Run>],
        runs: Arc<[Arc<Run>]>,
        left_out: &HashMap<(ShardNumber, TimelineId), Arc<Removed>>,
    ) {
        for (id, timeline) in &mut self.timelines {
            let Some(left_out) = left_out.get(&(self.shard, *id)).filter(|left_out| !left_out.is_empty()) else {
                continue;
            };
            let is_merged = |position: Position| merged.iter().any(|run| run.may_have(self.shard, position.seq));
            Arc::make_mut(&mut timeline.removed).forget(left_out.positions().filter(|position| is_merged(*position)));
        }
        self.runs = runs;
    }

    /// Everything but the records, as writes that bring it back to a shard with the given runs.
    pub(crate) fn writes(&self, runs: &[Arc<Run>]) -> (Time, Vec<Write>) {
        let mut writes = Vec::new();
        let is_in_run = |position: Position| runs.iter().any(|run| run.may_have(self.shard, position.seq));
        for (&timeline, kept) in &self.timelines {
            if kept.floor.position > Position::MIN {
                writes.push(Write::RaiseFloor { timeline, mark: kept.floor });
            }
            writes.extend(kept.anchors.iter().map(|(&position, &offset)| Write::Anchor {
                timeline,
                mark: punctual_types::Mark { offset, position },
            }));
            let removed = kept.removed.positions().filter(|position| is_in_run(*position));
            writes.extend(removed.map(|position| Write::Remove { timeline, position }));
            writes.extend(kept.removed.ranges().map(|(span, seq_max)| Write::RemoveRange {
                timeline,
                after: span.after,
                to: span.to,
                seq_max,
            }));
        }
        writes.extend(self.index.iter().map(|(&place, &entry)| Write::PutIndex { place, entry }));
        let state =
            self.state.iter().map(|(key, value)| Write::SetState { key: key.clone(), value: Some(value.clone()) });
        writes.extend(state);
        (self.swept, writes)
    }

    /// Bytes of memory that the runs take up, for all shards.
    pub(crate) fn run_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.memory_bytes()).sum()
    }

    /// Bytes of memory, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.entries * size_of::<Entry>() as u64;
        let index = self.index.len() * (size_of::<IndexPlace>() + size_of::<IndexEntry>());
        let timelines = self.timelines.len() * size_of::<Timeline>();
        entries + (index + timelines + self.state_bytes) as u64
    }
}
