//! The model of one shard: what it must answer, worked out the long way.
//!
//! It differs from a store on purpose: it knows the line, remembers every position that ever
//! crossed it, and looks an offset up in that list instead of counting from a mark.

use std::collections::BTreeMap;

use bytes::Bytes;
use punctual_types::{
    Counted, IndexEntry, IndexPlace, Mark, Offset, Position, Read, ReadReply, Record, Seq, Time, TimelineId,
};

/// One timeline.
#[derive(Clone, Default)]
pub(crate) struct NaiveTimeline {
    /// Everything that was inserted and not removed, dead or alive.
    pub(crate) records: BTreeMap<Position, Bytes>,
    /// Where the line stands.
    pub(crate) line: Position,
    /// What crossed the line, in order: the index is the offset.
    pub(crate) crossed: Vec<Position>,
    pub(crate) floor: Mark,
}

/// One shard.
#[derive(Clone, Default)]
pub(crate) struct Naive {
    pub(crate) timelines: BTreeMap<u8, NaiveTimeline>,
    pub(crate) index: BTreeMap<IndexPlace, IndexEntry>,
    pub(crate) state: BTreeMap<Bytes, Bytes>,
    pub(crate) now: Time,
    pub(crate) seq: Seq,
}

impl NaiveTimeline {
    /// Lets the line pass at most `records` records and stop where it passed the last of them,
    /// or after all that is due in that millisecond.
    pub(crate) fn advance(&mut self, records: usize, to_end_of_millisecond: bool) {
        let ahead: Vec<Position> = self.ahead().collect();
        let Some(last) = ahead.get(records.min(ahead.len()).wrapping_sub(1)) else { return };
        let line = if to_end_of_millisecond { Position::after(last.due) } else { *last };
        self.crossed.extend(ahead.iter().take_while(|position| **position <= line));
        self.line = line;
    }

    pub(crate) fn ahead(&self) -> impl Iterator<Item = Position> {
        self.records.keys().copied().filter(|position| *position > self.line)
    }

    /// The mark where the line stands.
    pub(crate) fn line_mark(&self) -> Mark {
        Mark { offset: Offset(self.crossed.len() as u64), position: self.line }
    }

    /// The mark just past the record of an offset below the line's.
    pub(crate) fn mark_past(&self, offset: usize) -> Option<Mark> {
        let position = *self.crossed.get(offset)?;
        Some(Mark { offset: Offset(offset as u64 + 1), position })
    }

    pub(crate) fn remove_range(&mut self, after: Position, to: Position, seq_max: Seq) {
        self.records.retain(|position, _| !(*position > after && *position <= to && position.seq <= seq_max));
    }

    fn alive(&self) -> impl Iterator<Item = (Position, &Bytes)> {
        let floor = self.floor.position;
        self.records.iter().map(|(position, value)| (*position, value)).filter(move |(position, _)| *position > floor)
    }
}

impl Naive {
    /// The answers that are right. More than one only where the contract leaves it open.
    pub(crate) fn answers(&self, timeline: impl Fn(TimelineId) -> u8, read: Read) -> Vec<ReadReply> {
        let empty = NaiveTimeline::default();
        let of = |id| self.timelines.get(&timeline(id)).unwrap_or(&empty);
        let one = match read {
            Read::Window { timeline, after, to, limit, bytes_max, values } => {
                let mut found: Vec<Record> = Vec::new();
                for (position, value) in
                    of(timeline).alive().filter(|(position, _)| *position > after && *position <= to)
                {
                    let bytes: u64 = found.iter().map(|record| record.value.len() as u64).sum();
                    if !found.is_empty() && (found.len() >= limit as usize || bytes >= bytes_max) {
                        break;
                    }
                    found.push(Record { position, value: if values { value.clone() } else { Bytes::new() } });
                }
                ReadReply::Records(found)
            }
            Read::Record { timeline, position } => {
                ReadReply::Record(of(timeline).alive().find(|(at, _)| *at == position).map(|(_, value)| value.clone()))
            }
            Read::AtOffset { timeline, offset, limit } => {
                let timeline = of(timeline);
                let wanted = timeline.crossed.iter().skip(offset.0 as usize).take(limit as usize);
                ReadReply::Records(
                    wanted
                        .filter_map(|position| {
                            Some(Record { position: *position, value: timeline.records.get(position)?.clone() })
                        })
                        .collect(),
                )
            }
            Read::OffsetOf { timeline, position } => {
                let timeline = of(timeline);
                let offset = timeline.crossed.iter().position(|crossed| *crossed == position);
                let alive = position > timeline.floor.position;
                ReadReply::Offset(offset.filter(|_| alive).map(|offset| Offset(offset as u64)))
            }
            Read::Lookup(place) => {
                let entry = self.index.get(&place).copied();
                if entry.is_some_and(|entry| entry.expires_at < self.now) {
                    return vec![ReadReply::Entry(entry), ReadReply::Entry(None)];
                }
                ReadReply::Entry(entry)
            }
            Read::Count { timeline, after, to, bucket_ms } => {
                let mut counts = Vec::<Counted>::new();
                for (position, _) in of(timeline).alive().filter(|(position, _)| *position > after && *position <= to) {
                    let bucket = position.due.unix_ms() / bucket_ms * bucket_ms;
                    match counts.last_mut().filter(|last| last.from.unix_ms() == bucket) {
                        Some(last) => last.count += 1,
                        None => counts.push(Counted { from: Time::from_unix_ms(bucket).expect("in range"), count: 1 }),
                    }
                }
                ReadReply::Counts(counts)
            }
        };
        vec![one]
    }
}
