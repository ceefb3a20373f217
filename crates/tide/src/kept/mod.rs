//! What a shard keeps: timelines, index entries and named state, as far as it is in memory.

mod timeline;

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use punctual_types::{Counted, DelayMs, IndexEntry, IndexPlace, Offset, Read, ReadReply, Record, Time, TimelineId};

use crate::{
    batch::{NoBatch, Step, Steps},
    journal::{Location, SegmentNumber},
    wheel::{Entry, Span},
};
use timeline::{Page, Timeline};

/// How much broker time passes between two sweeps of expired index entries: a sweep looks at
/// every entry.
const SWEEP_EVERY: DelayMs = DelayMs::from_secs(60);

/// Everything that a shard keeps.
#[derive(Default)]
pub(crate) struct Kept {
    timelines: HashMap<TimelineId, Timeline>,
    index: HashMap<IndexPlace, IndexEntry>,
    state: BTreeMap<Bytes, Bytes>,
    state_bytes: usize,
    entries: u64,
    swept: Time,
}

/// The answer to a read, with the places of records in place of their bytes.
pub(crate) enum Answer {
    /// To a window; whether the bytes are wanted.
    Records(Vec<Entry>, bool),
    Record(Option<Entry>),
    Offset(Option<Offset>),
    Entry(Option<IndexEntry>),
    Counts(Vec<Counted>),
}

/// Where the payload of a batch lies, so that its records can be found again.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) segment: SegmentNumber,
    pub(crate) at: u32,
}

impl Kept {
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
        match step {
            Step::Insert { timeline, position, record } => {
                let location = Location { segment: place.segment, at: place.at + record.at, len: record.len };
                self.change(timeline, |timeline| timeline.wheel.insert(Entry { position, location }));
            }
            Step::Remove { timeline, position } => {
                self.change(timeline, |timeline| {
                    timeline.wheel.remove(position);
                });
            }
            Step::RemoveRange { timeline, after, to, seq_max } => {
                self.change(timeline, |timeline| timeline.wheel.remove_range(Span { after, to }, seq_max));
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

    pub(crate) fn read(&mut self, read: Read) -> Answer {
        match read {
            Read::Window { timeline, after, to, limit, bytes_max, values } => {
                let page = Page { skip: 0, limit, bytes_max, values };
                let found = self.timeline(timeline).map(|timeline| timeline.window(Span { after, to }, page));
                Answer::Records(found.unwrap_or_default(), values)
            }
            Read::Record { timeline, position } => {
                Answer::Record(self.timeline(timeline).and_then(|timeline| timeline.wheel.get(position)))
            }
            Read::AtOffset { timeline, offset, limit } => {
                let found = self.timeline(timeline).map(|timeline| timeline.at_offset(offset, limit));
                Answer::Records(found.unwrap_or_default(), true)
            }
            Read::OffsetOf { timeline, position } => {
                Answer::Offset(self.timeline(timeline).and_then(|timeline| timeline.offset_of(position)))
            }
            Read::Lookup(place) => Answer::Entry(self.index.get(&place).copied()),
            Read::Count { timeline, after, to, bucket_ms } => {
                let counts = self.timeline(timeline).map(|timeline| {
                    timeline
                        .wheel
                        .count_by(Span { after, to }, bucket_ms.max(1))
                        .into_iter()
                        .filter_map(|(from, count)| Some(Counted { from: Time::from_unix_ms(from)?, count }))
                });
                Answer::Counts(counts.into_iter().flatten().collect())
            }
        }
    }

    fn timeline(&mut self, id: TimelineId) -> Option<&mut Timeline> {
        self.timelines.get_mut(&id)
    }

    pub(crate) fn state(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.state.iter()
    }

    /// Bytes of memory, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.entries * size_of::<Entry>() as u64;
        let index = self.index.len() * (size_of::<IndexPlace>() + size_of::<IndexEntry>());
        let timelines = self.timelines.len() * size_of::<Timeline>();
        entries + (index + timelines + self.state_bytes) as u64
    }
}

impl Answer {
    /// The reply, with the bytes of the records.
    pub(crate) fn reply<E>(self, record: impl Fn(Location) -> Result<Bytes, E>) -> Result<ReadReply, E> {
        Ok(match self {
            Self::Records(entries, values) => ReadReply::Records(
                entries
                    .into_iter()
                    .map(|entry| {
                        let value = if values { record(entry.location)? } else { Bytes::new() };
                        Ok(Record { position: entry.position, value })
                    })
                    .collect::<Result<_, E>>()?,
            ),
            Self::Record(entry) => ReadReply::Record(entry.map(|entry| record(entry.location)).transpose()?),
            Self::Offset(offset) => ReadReply::Offset(offset),
            Self::Entry(entry) => ReadReply::Entry(entry),
            Self::Counts(counts) => ReadReply::Counts(counts),
        })
    }
}
