//! Writing a run: records come in order, blocks and index follow from them.

use std::{io, sync::Arc};

use punctual_store_api::StoreError;
use punctual_types::{Position, Seq, ShardNumber, TimelineId};

use super::{BlockPlace, Run, RunNumber, Stretch, block, footer, header};
use crate::{
    codec::put_position,
    limits::{RUN_BLOCK_BYTES, RUN_WRITE_BYTES},
    vfs::{FileHandle, Vfs},
};

/// A run on its way to its file.
pub(crate) struct RunWriter {
    number: RunNumber,
    file: FileHandle,
    /// Where the next write goes, and what it will write.
    at: u64,
    pending: Vec<u8>,
    block: Vec<u8>,
    /// First and last position of the block, and how many records it has.
    block_span: Option<(Position, Position, u32)>,
    current: Option<(ShardNumber, TimelineId)>,
    sections: Vec<(ShardNumber, TimelineId, Vec<BlockPlace>)>,
    stretches: Vec<Stretch>,
    records: u64,
}

impl RunWriter {
    pub(crate) fn create(vfs: &dyn Vfs, number: RunNumber) -> Result<Self, StoreError> {
        let name = number.file_name();
        let file = vfs.create(&name, 0).map_err(|error| StoreError::failed("making", name, error))?;
        Ok(Self {
            number,
            file,
            at: 0,
            pending: header(number).to_vec(),
            block: Vec::new(),
            block_span: None,
            current: None,
            sections: Vec::new(),
            stretches: Vec::new(),
            records: 0,
        })
    }

    /// Appends a record. They come in order of shard, timeline and position.
    pub(crate) fn put(
        &mut self,
        shard: ShardNumber,
        timeline: TimelineId,
        position: Position,
        record: &[u8],
    ) -> Result<(), StoreError> {
        if self.current != Some((shard, timeline)) || self.block.len() >= RUN_BLOCK_BYTES {
            self.end_block()?;
        }
        if self.current != Some((shard, timeline)) {
            assert!(self.current.is_none_or(|before| before < (shard, timeline)), "sections come in order");
            self.current = Some((shard, timeline));
            self.sections.push((shard, timeline, Vec::new()));
        }
        block::put(&mut self.block, position, record);
        let (first, records) = self.block_span.map_or((position, 0), |(first, _, records)| (first, records));
        self.block_span = Some((first, position, records + 1));
        self.stretch(shard, position.seq);
        self.records += 1;
        Ok(())
    }

    fn stretch(&mut self, shard: ShardNumber, seq: Seq) {
        match self.stretches.last_mut().filter(|stretch| stretch.shard == shard) {
            Some(stretch) => {
                stretch.first = stretch.first.min(seq);
                stretch.last = stretch.last.max(seq);
            }
            None => self.stretches.push(Stretch { shard, first: seq, last: seq }),
        }
    }

    fn end_block(&mut self) -> Result<(), StoreError> {
        let Some((first, last, records)) = self.block_span.take() else { return Ok(()) };
        let bytes = u32::try_from(self.block.len()).expect("a block has few records, each shorter than a batch");
        let at = self.at + self.pending.len() as u64;
        let place = BlockPlace { first, last, records, at, bytes, check: crc32c::crc32c(&self.block) };
        if let Some((_, _, blocks)) = self.sections.last_mut() {
            blocks.push(place);
        }
        self.pending.append(&mut self.block);
        if self.pending.len() >= RUN_WRITE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let failed = |error: io::Error| StoreError::failed("writing", self.number.file_name(), error);
        self.file.write_at(&self.pending, self.at).map_err(failed)?;
        self.at += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Writes what is left and the index, and makes all of it durable, but for its name. Gives
    /// `None` when there was no record: then the file is removed again.
    pub(crate) fn finish(mut self, vfs: &dyn Vfs) -> Result<Option<Arc<Run>>, StoreError> {
        if self.records == 0 {
            let name = self.number.file_name();
            vfs.remove(&name).map_err(|error| StoreError::failed("removing", name, error))?;
            return Ok(None);
        }
        self.end_block()?;
        let index = self.index();
        let index_at = self.at + self.pending.len() as u64;
        self.pending.extend_from_slice(&index);
        self.pending.extend_from_slice(&footer(self.number, index_at, &index));
        self.write()?;
        self.file.sync().map_err(|error| StoreError::failed("syncing", self.number.file_name(), error))?;
        // Read back, so that what will be named is what can be read.
        Run::open(vfs, self.number).map(Some)
    }

    fn index(&self) -> Vec<u8> {
        let mut index = Vec::new();
        let count = |len: usize| u32::try_from(len).expect("a run has fewer than 2^32 blocks").to_be_bytes();
        index.extend_from_slice(&count(self.sections.len()));
        for (shard, timeline, blocks) in &self.sections {
            index.extend_from_slice(&shard.0.to_be_bytes());
            index.extend_from_slice(&timeline.to_bytes());
            index.extend_from_slice(&count(blocks.len()));
            for block in blocks {
                put_position(&mut index, block.first);
                put_position(&mut index, block.last);
                index.extend_from_slice(&block.records.to_be_bytes());
                index.extend_from_slice(&block.at.to_be_bytes());
                index.extend_from_slice(&block.bytes.to_be_bytes());
                index.extend_from_slice(&block.check.to_be_bytes());
            }
        }
        index.extend_from_slice(&count(self.stretches.len()));
        for stretch in &self.stretches {
            index.extend_from_slice(&stretch.shard.0.to_be_bytes());
            index.extend_from_slice(&stretch.first.0.to_be_bytes());
            index.extend_from_slice(&stretch.last.0.to_be_bytes());
        }
        index
    }
}
