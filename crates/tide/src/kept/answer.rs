//! Answers that are begun under the lock of a shard and finished, with the disk, after it.

use std::collections::BTreeMap;

use bytes::Bytes;
use punctual_store_api::StoreError;
use punctual_types::{Counted, IndexEntry, Mark, Offset, Position, Read, ReadReply, Record, Seq, Time, TimelineId};

use super::{Kept, timeline::Timeline};
use crate::{
    journal::{Journal, Location},
    run::Slice,
    wheel::{Entry, Span},
};

/// An answer of one moment: what the wheel knows, and which runs are to be asked.
pub(crate) enum Answer {
    Records { near: Vec<Entry>, far: Slice, span: Span, page: Page },
    Record { near: Option<Entry>, far: Option<Slice>, position: Position },
    Offset { is_near: bool, near: u64, far: Option<Slice>, mark: Mark, position: Position },
    Entry(Option<IndexEntry>),
    Counts { near: BTreeMap<u64, u64>, far: Slice, span: Span, bucket_ms: u64 },
}

/// Which part of a window is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    skip: u64,
    limit: u32,
    bytes_max: u64,
    /// Whether the records' bytes are wanted, and count.
    values: bool,
}

impl Kept {
    /// Begins an answer.
    pub(crate) fn read(&mut self, read: Read) -> Answer {
        let (shard, runs) = (self.shard, &self.runs);
        let far = |timeline: TimelineId, found: &Timeline| Slice {
            shard,
            timeline,
            runs: runs.clone(),
            removed: found.removed.clone(),
        };
        let mut none = Timeline::default();
        match read {
            Read::Window { timeline: id, after, to, limit, bytes_max, values } => {
                let timeline = self.timelines.get_mut(&id).unwrap_or(&mut none);
                let span = timeline.above_floor(Span { after, to });
                let page = Page { skip: 0, limit, bytes_max, values };
                let near = timeline.entries(span, u64::from(limit), if values { bytes_max } else { u64::MAX });
                Answer::Records { near, far: far(id, timeline), span, page }
            }
            Read::AtOffset { timeline: id, offset, limit } => {
                let timeline = self.timelines.get_mut(&id).unwrap_or(&mut none);
                let mark = timeline.mark_of(offset);
                let span = Span { after: mark.position, to: Position::MAX };
                let skip = offset.0.saturating_sub(mark.offset.0);
                let near = timeline.entries(span, skip.saturating_add(u64::from(limit)), u64::MAX);
                Answer::Records {
                    near,
                    far: far(id, timeline),
                    span,
                    page: Page { skip, limit, bytes_max: u64::MAX, values: true },
                }
            }
            Read::Record { timeline: id, position } => {
                let timeline = self.timelines.get_mut(&id).unwrap_or(&mut none);
                let near = timeline.wheel.get(position);
                let is_far = near.is_none() && position > timeline.floor.position;
                Answer::Record { near, far: is_far.then(|| far(id, timeline)), position }
            }
            Read::OffsetOf { timeline: id, position } => {
                let timeline = self.timelines.get_mut(&id).unwrap_or(&mut none);
                let is_near = timeline.wheel.get(position).is_some();
                let mark = timeline.mark_before(position);
                let near = timeline.wheel.count(before(mark, position));
                let is_above = position > timeline.floor.position;
                Answer::Offset { is_near, near, far: is_above.then(|| far(id, timeline)), mark, position }
            }
            Read::Lookup(place) => Answer::Entry(self.index.get(&place).copied()),
            Read::Count { timeline: id, after, to, bucket_ms } => {
                let timeline = self.timelines.get_mut(&id).unwrap_or(&mut none);
                let span = timeline.above_floor(Span { after, to });
                let bucket_ms = bucket_ms.max(1);
                Answer::Counts {
                    near: timeline.wheel.count_by(span, bucket_ms),
                    far: far(id, timeline),
                    span,
                    bucket_ms,
                }
            }
        }
    }
}

/// What lies between a mark and a position. No record has sequence number 0, so the last position
/// before that of a record is one less.
fn before(mark: Mark, position: Position) -> Span {
    let to = Position::new(position.due, Seq(position.seq.0.saturating_sub(1)));
    Span { after: mark.position, to }
}

impl Answer {
    /// Finishes the answer; `None` when what it rests on has been folded meanwhile, and it is to be
    /// begun again.
    pub(crate) fn finish(self, journal: &Journal) -> Result<Option<ReadReply>, StoreError> {
        Ok(Some(match self {
            Self::Records { near, far, span, page } => {
                let Some(records) = merged(journal, near, &far, span, page)? else { return Ok(None) };
                ReadReply::Records(records)
            }
            Self::Record { near: Some(entry), .. } => {
                let Some(record) = journal.record(entry.location)? else { return Ok(None) };
                ReadReply::Record(Some(record))
            }
            Self::Record { near: None, far, position } => {
                ReadReply::Record(far.map(|far| far.record(position)).transpose()?.flatten())
            }
            Self::Offset { is_near, near, far, mark, position } => {
                let Some(far) = far else { return Ok(Some(ReadReply::Offset(None))) };
                let is_there = is_near || far.record(position)?.is_some();
                let far = if is_there { far.count(before(mark, position))? } else { 0 };
                ReadReply::Offset(is_there.then_some(Offset(mark.offset.0 + near + far)))
            }
            Self::Entry(entry) => ReadReply::Entry(entry),
            Self::Counts { mut near, far, span, bucket_ms } => {
                for (bucket, count) in far.count_by(span, bucket_ms)? {
                    *near.entry(bucket).or_default() += count;
                }
                let counted = |(from, count)| Some(Counted { from: Time::from_unix_ms(from)?, count });
                ReadReply::Counts(near.into_iter().filter_map(counted).collect())
            }
        }))
    }
}

/// The page of a window, from the wheel's entries and the runs' records.
fn merged(
    journal: &Journal,
    near: Vec<Entry>,
    far: &Slice,
    span: Span,
    page: Page,
) -> Result<Option<Vec<Record>>, StoreError> {
    let (mut near, mut far) = (near.into_iter().peekable(), far.records(span));
    let (mut found, mut bytes) = (Vec::new(), 0);
    for step in 0.. {
        let next = match (near.peek().map(|entry| entry.position), far.peek()?) {
            (None, None) => break,
            (Some(near), Some(far)) if far < near => Next::Far,
            (Some(_), _) => Next::Near,
            (None, Some(_)) => Next::Far,
        };
        let (position, place) = match next {
            Next::Near => near.next().map(|entry| (entry.position, Place::Journal(entry.location))),
            Next::Far => far.next()?.map(|record| (record.position, Place::Here(record.value))),
        }
        .expect("it was looked at");
        if step < page.skip {
            continue;
        }
        let value = match place {
            _ if !page.values => Bytes::new(),
            Place::Here(value) => value,
            Place::Journal(location) => match journal.record(location)? {
                Some(value) => value,
                None => return Ok(None),
            },
        };
        bytes += value.len() as u64;
        found.push(Record { position, value });
        if found.len() >= page.limit as usize || bytes >= page.bytes_max {
            break;
        }
    }
    Ok(Some(found))
}

/// Where the next record of a merge comes from.
enum Next {
    Near,
    Far,
}

/// Where its bytes are.
enum Place {
    Journal(Location),
    Here(Bytes),
}
