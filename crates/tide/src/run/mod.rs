//! Runs: records that the journal no longer has, sorted by shard, timeline and position.
//!
//! A run is written once and never changed. Its records lie in blocks, each of one timeline and with
//! a check; its index says where each block begins, ends and lies, and which stretch of sequence
//! numbers each shard has in it. No two runs share a record, and the stretches of one shard in two
//! runs do not overlap, so a position tells its run.

mod block;
mod slice;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::Arc;

use bytes::Bytes;
use punctual_store_api::StoreError;
use punctual_types::{Position, Seq, ShardNumber, TimelineId};

use crate::{
    codec::Reader,
    vfs::{FileHandle, Vfs},
    wheel::Span,
};
pub(crate) use slice::{Removed, Slice};
pub(crate) use writer::RunWriter;

const TITLE: [u8; 8] = *b"PNCTRUNS";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 16;
const FOOTER_BYTES: usize = 24;
const PREFIX: &str = "run.";

/// The number of a run. Never given twice in a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RunNumber(pub(crate) u32);

impl RunNumber {
    pub(crate) fn file_name(self) -> String {
        format!("{PREFIX}{:08x}", self.0)
    }

    /// The number in a file's name, if it is one of a run.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        let number = u32::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
        (Self(number).file_name() == name).then_some(Self(number))
    }
}

/// Where a block lies and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) first: Position,
    pub(crate) last: Position,
    pub(crate) records: u32,
    at: u64,
    bytes: u32,
    check: u32,
}

/// The sequence numbers of one shard in a run: the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    shard: ShardNumber,
    first: Seq,
    last: Seq,
}

/// The blocks of a timeline: a part of the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Section {
    shard: ShardNumber,
    timeline: TimelineId,
    begin: usize,
    end: usize,
}

/// An open run.
pub(crate) struct Run {
    pub(crate) number: RunNumber,
    file: FileHandle,
    pub(crate) bytes: u64,
    blocks: Vec<BlockPlace>,
    /// In order of shard and timeline.
    sections: Vec<Section>,
    stretches: Vec<Stretch>,
}

impl Run {
    /// Opens a run and checks its index. Its blocks are checked when they are read.
    pub(crate) fn open(vfs: &dyn Vfs, number: RunNumber) -> Result<Arc<Self>, StoreError> {
        let name = number.file_name();
        let failed = |error| StoreError::failed("reading", &*name, error);
        let damaged = |detail: &str| StoreError::corrupt(&*name, detail);
        let file = vfs.open(&name).map_err(failed)?;
        let bytes = file.len().map_err(failed)?;
        let read = |at: u64, len: usize| {
            let mut part = vec![0; len];
            file.read_at(&mut part, at).map_err(failed).map(|()| part)
        };
        let least = (HEADER_BYTES + FOOTER_BYTES) as u64;
        if bytes < least {
            return Err(damaged("it is too short to be a run"));
        }
        let header = read(0, HEADER_BYTES)?;
        let footer = read(bytes - FOOTER_BYTES as u64, FOOTER_BYTES)?;
        let (at, len, check) = footer_of(&header, &footer, number).ok_or_else(|| damaged("its ends do not match"))?;
        let is_within = at >= HEADER_BYTES as u64 && at.checked_add(len) == Some(bytes - FOOTER_BYTES as u64);
        let index = read(at, usize::try_from(len).ok().filter(|_| is_within).ok_or_else(|| damaged("its index"))?)?;
        if crc32c::crc32c(&index) != check {
            return Err(damaged("its index fails its check"));
        }
        let (blocks, sections, stretches) = index_of(&index, at).ok_or_else(|| damaged("its index is none"))?;
        Ok(Arc::new(Self { number, file, bytes, blocks, sections, stretches }))
    }

    /// The blocks of a timeline, in order.
    pub(crate) fn blocks(&self, shard: ShardNumber, timeline: TimelineId) -> &[BlockPlace] {
        let found = self.sections.binary_search_by_key(&(shard, timeline), |section| (section.shard, section.timeline));
        let section = found.ok().and_then(|at| self.sections.get(at));
        section.and_then(|section| self.blocks.get(section.begin..section.end)).unwrap_or_default()
    }

    /// Whether the record of a shard with this sequence number can only be here.
    pub(crate) fn may_have(&self, shard: ShardNumber, seq: Seq) -> bool {
        self.stretches.iter().any(|stretch| stretch.shard == shard && (stretch.first..=stretch.last).contains(&seq))
    }

    /// The last position of each timeline in it.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (ShardNumber, TimelineId, Position)> {
        self.sections.iter().filter_map(|section| {
            let last = self.blocks.get(section.end.checked_sub(1)?)?;
            Some((section.shard, section.timeline, last.last))
        })
    }

    /// The shards and timelines in it, in order.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (ShardNumber, TimelineId)> {
        self.sections.iter().map(|section| (section.shard, section.timeline))
    }

    /// Bytes of memory that it takes up while it is open.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.blocks.len() * size_of::<BlockPlace>() + self.sections.len() * size_of::<Section>()) as u64
    }

    /// Reads every block and checks it, also that its records are of the stretch that the run says. Gives
    /// how many records there are.
    pub(crate) fn verify(&self) -> Result<u64, StoreError> {
        let mut count = 0;
        for section in &self.sections {
            for place in self.blocks.get(section.begin..section.end).unwrap_or_default() {
                let records = block::records(&self.block(*place)?).ok_or_else(|| self.damaged(*place))?;
                let (first, last) = (records.first(), records.last());
                let ends = first.zip(last).map(|(first, last)| (first.position, last.position));
                let is_right = ends == Some((place.first, place.last))
                    && records.len() == place.records as usize
                    && records.iter().all(|record| self.may_have(section.shard, record.position.seq));
                if !is_right {
                    return Err(self.damaged(*place));
                }
                count += records.len() as u64;
            }
        }
        Ok(count)
    }

    /// Reads a block and checks it.
    fn block(&self, place: BlockPlace) -> Result<Bytes, StoreError> {
        let mut bytes = vec![0; place.bytes as usize];
        let name = || self.number.file_name();
        self.file.read_at(&mut bytes, place.at).map_err(|error| StoreError::failed("reading", name(), error))?;
        if crc32c::crc32c(&bytes) != place.check {
            return Err(self.damaged(place));
        }
        Ok(Bytes::from(bytes))
    }

    fn damaged(&self, place: BlockPlace) -> StoreError {
        let detail = format!("the block of {} bytes at {} is not what was written", place.bytes, place.at);
        StoreError::corrupt(self.number.file_name(), detail)
    }
}

impl BlockPlace {
    /// Whether something of a span may lie in it.
    fn touches(&self, span: Span) -> bool {
        self.last > span.after && self.first <= span.to
    }

    /// Whether all of it lies in a span.
    fn is_within(&self, span: Span) -> bool {
        self.first > span.after && self.last <= span.to
    }
}

/// The first bytes of a run.
fn header(number: RunNumber) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&TITLE);
    bytes[8..12].copy_from_slice(&VERSION.to_be_bytes());
    bytes[12..].copy_from_slice(&number.0.to_be_bytes());
    bytes
}

/// The last bytes of a run, which check the first ones too.
fn footer(number: RunNumber, index_at: u64, index: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FOOTER_BYTES);
    bytes.extend_from_slice(&index_at.to_be_bytes());
    bytes.extend_from_slice(&(index.len() as u64).to_be_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(index).to_be_bytes());
    let check = crc32c::crc32c_append(crc32c::crc32c(&header(number)), &bytes);
    bytes.extend_from_slice(&check.to_be_bytes());
    bytes
}

/// Where the index lies, its length and check.
fn footer_of(found: &[u8], footer: &[u8], number: RunNumber) -> Option<(u64, u64, u32)> {
    let mut reader = Reader::new(footer);
    let (at, len, check) = (reader.u64()?, reader.u64()?, reader.u32()?);
    let expected = crc32c::crc32c_append(crc32c::crc32c(found), footer.get(..FOOTER_BYTES - 4)?);
    (found == header(number) && reader.u32()? == expected).then_some((at, len, check))
}

/// What an index says, if all of it is in order and lies before `end`.
fn index_of(index: &[u8], end: u64) -> Option<(Vec<BlockPlace>, Vec<Section>, Vec<Stretch>)> {
    let mut reader = Reader::new(index);
    let (mut blocks, mut sections, mut stretches) = (Vec::<BlockPlace>::new(), Vec::<Section>::new(), Vec::new());
    for _ in 0..reader.u32()? {
        let (shard, timeline, count) = (ShardNumber(reader.u16()?), reader.timeline()?, reader.u32()?);
        if sections.last().is_some_and(|before| (before.shard, before.timeline) >= (shard, timeline)) {
            return None;
        }
        let begin = blocks.len();
        for _ in 0..count {
            let (first, last, records) = (reader.position()?, reader.position()?, reader.u32()?);
            let block =
                BlockPlace { first, last, records, at: reader.u64()?, bytes: reader.u32()?, check: reader.u32()? };
            let follows = blocks.get(begin..)?.last().is_none_or(|before| before.last < first);
            if !follows || last < first || block.at.checked_add(u64::from(block.bytes))? > end {
                return None;
            }
            blocks.push(block);
        }
        sections.push(Section { shard, timeline, begin, end: blocks.len() });
    }
    for _ in 0..reader.u32()? {
        stretches.push(Stretch {
            shard: ShardNumber(reader.u16()?),
            first: Seq(reader.u64()?),
            last: Seq(reader.u64()?),
        });
    }
    reader.is_at_end().then_some((blocks, sections, stretches))
}
