//! From the bytes of a batch to its steps.

use punctual_types::{
    IndexEntry, IndexKind, IndexPlace, Mark, PartitionNumber, Position, Seq, Time, TimelineId, TopicNumber,
};

use super::{Extent, Tag};
use crate::codec::Reader;

/// One step of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Insert { timeline: TimelineId, position: Position, record: Extent },
    Remove { timeline: TimelineId, position: Position },
    RemoveRange { timeline: TimelineId, after: Position, to: Position, seq_max: Seq },
    Anchor { timeline: TimelineId, mark: Mark },
    RaiseFloor { timeline: TimelineId, mark: Mark },
    PutIndex { place: IndexPlace, entry: IndexEntry },
    SetState { key: &'a [u8], value: Option<&'a [u8]> },
}

/// The steps of a batch, in order; an `Err` in place of one that is none, and then no more.
pub(crate) struct Steps<'a> {
    reader: Reader<'a>,
    timeline: Option<TimelineId>,
    is_over: bool,
}

/// The bytes are no batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoBatch {
    /// Where that showed.
    pub(crate) at: usize,
}

impl<'a> Steps<'a> {
    /// The time of a batch and its steps.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<(Time, Self), NoBatch> {
        let mut reader = Reader::new(bytes);
        let now = reader.u64().and_then(Time::from_unix_ms).ok_or(NoBatch { at: 0 })?;
        Ok((now, Self { reader, timeline: None, is_over: false }))
    }

    fn step(&mut self) -> Option<Step<'a>> {
        loop {
            let tag = Tag::of(self.reader.u8()?)?;
            let reader = &mut self.reader;
            return Some(match tag {
                Tag::Timeline => {
                    self.timeline = Some(reader.timeline()?);
                    continue;
                }
                Tag::Insert => {
                    let (position, len, _check) = (reader.position()?, reader.u32()?, reader.u32()?);
                    let record = Extent { at: u32::try_from(reader.at()).ok()?, len };
                    reader.take(usize::try_from(len).ok()?)?;
                    Step::Insert { timeline: self.timeline?, position, record }
                }
                Tag::Remove => Step::Remove { timeline: self.timeline?, position: reader.position()? },
                Tag::RemoveRange => {
                    let (after, to, seq_max) = (reader.position()?, reader.position()?, Seq(reader.u64()?));
                    Step::RemoveRange { timeline: self.timeline?, after, to, seq_max }
                }
                Tag::Anchor => Step::Anchor { timeline: self.timeline?, mark: reader.mark()? },
                Tag::RaiseFloor => Step::RaiseFloor { timeline: self.timeline?, mark: reader.mark()? },
                Tag::PutIndex => Step::PutIndex { place: place(reader)?, entry: entry(reader)? },
                Tag::SetState => {
                    let (key, value) = (reader.u32()?, reader.u32()?);
                    let key = reader.take(usize::try_from(key).ok()?)?;
                    Step::SetState { key, value: Some(reader.take(usize::try_from(value).ok()?)?) }
                }
                Tag::ForgetState => {
                    let key = reader.u32()?;
                    Step::SetState { key: reader.take(usize::try_from(key).ok()?)?, value: None }
                }
            });
        }
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Result<Step<'a>, NoBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over || self.reader.is_at_end() {
            return None;
        }
        let at = self.reader.at();
        let step = self.step();
        self.is_over = step.is_none();
        Some(step.ok_or(NoBatch { at }))
    }
}

fn place(reader: &mut Reader<'_>) -> Option<IndexPlace> {
    let index = match reader.u8()? {
        1 => IndexKind::Key,
        2 => IndexKind::Dedup,
        3 => IndexKind::Message,
        _ => return None,
    };
    let (topic, partition) = (TopicNumber(reader.u32()?), PartitionNumber(reader.u16()?));
    Some(IndexPlace { index, topic, partition, hash: reader.array()? })
}

fn entry(reader: &mut Reader<'_>) -> Option<IndexEntry> {
    Some(IndexEntry {
        priority: reader.u8()?,
        first: reader.position()?,
        position: reader.position()?,
        outcome: reader.u8()?,
        at: reader.time()?,
        expires_at: reader.time()?,
    })
}
