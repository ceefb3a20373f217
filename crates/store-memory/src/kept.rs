//! What a shard keeps: timelines, index entries and named state.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use punctual_types::{Batch, DelayMs, IndexEntry, IndexPlace, Read, ReadReply, Time, TimelineId, Write};

use crate::timeline::Timeline;

/// How much broker time passes between two sweeps of expired index entries: a sweep looks at
/// every entry.
const SWEEP_EVERY: DelayMs = DelayMs::from_secs(60);

/// Everything that a shard keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    timelines: HashMap<TimelineId, Timeline>,
    index: BTreeMap<IndexPlace, IndexEntry>,
    state: BTreeMap<Bytes, Bytes>,
    swept: Time,
}

impl Kept {
    pub(crate) fn apply(&mut self, batch: Batch) {
        for write in batch.writes {
            match write {
                Write::Insert { timeline, position, record } => self.timeline(timeline).insert(position, record),
                Write::Remove { timeline, position } => self.timeline(timeline).remove(position),
                Write::RemoveRange { timeline, after, to, seq_max } => {
                    self.timeline(timeline).remove_range(after, to, seq_max);
                }
                Write::PutIndex { place, entry } => {
                    self.index.insert(place, entry);
                }
                Write::Anchor { timeline, mark } => self.timeline(timeline).anchor(mark),
                Write::RaiseFloor { timeline, mark } => self.timeline(timeline).raise_floor(mark),
                Write::SetState { key, value: Some(value) } => {
                    self.state.insert(key, value);
                }
                Write::SetState { key, value: None } => {
                    self.state.remove(&key);
                }
            }
        }
        if batch.now.since(self.swept) >= SWEEP_EVERY {
            // "Before", as `Batch::now` says: an entry that expires at `now` is kept.
            self.index.retain(|_, entry| entry.expires_at >= batch.now);
            self.swept = batch.now;
        }
    }

    pub(crate) fn read(&self, read: Read) -> ReadReply {
        let empty = Timeline::default();
        let timeline = |id| self.timelines.get(&id).unwrap_or(&empty);
        match read {
            Read::Window { timeline: id, after, to, limit, bytes_max, values } => {
                ReadReply::Records(timeline(id).window(after, to, limit, bytes_max, values))
            }
            Read::Record { timeline: id, position } => ReadReply::Record(timeline(id).record(position)),
            Read::AtOffset { timeline: id, offset, limit } => ReadReply::Records(timeline(id).at_offset(offset, limit)),
            Read::OffsetOf { timeline: id, position } => ReadReply::Offset(timeline(id).offset_of(position)),
            Read::Lookup(place) => ReadReply::Entry(self.index.get(&place).copied()),
            Read::Count { timeline: id, after, to, bucket_ms } => {
                ReadReply::Counts(timeline(id).count(after, to, bucket_ms))
            }
        }
    }

    pub(crate) fn show_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) {
        for (key, value) in &self.state {
            show(key.clone(), value.clone());
        }
    }

    /// Bytes of everything kept, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        let records: u64 = self.timelines.values().map(Timeline::bytes).sum();
        let state: usize = self.state.iter().map(|(key, value)| key.len() + value.len()).sum();
        let index = self.index.len() * (size_of::<IndexPlace>() + size_of::<IndexEntry>());
        records + state as u64 + index as u64
    }

    fn timeline(&mut self, id: TimelineId) -> &mut Timeline {
        self.timelines.entry(id).or_default()
    }
}
