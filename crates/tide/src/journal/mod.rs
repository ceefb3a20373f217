//! The journal: every batch of every shard, one after the other, in segments.
//!
//! * A batch is *written* when its frame has been handed to the system, and *durable* when a sync
//!   that began after that has returned. One sync covers all shards.
//! * A batch is there whole or not at all after any crash, and none without all before it.
//! * A sync that failed is not tried again; whoever calls latches.
//!
//! It knows frames and places, not what a batch means.

pub(crate) mod frame;
mod recent;
mod recovery;
mod segment;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use punctual_store_api::StoreError;
use punctual_types::{CommitNumber, ShardNumber};

use crate::{
    limits,
    vfs::{Vfs, is_full},
};
use frame::{Chain, HEADER_BYTES, Header, Kind, Seed, frame_bytes, payload_check};
use recent::Recent;
pub(crate) use recovery::{Found, Recovery, replay, verify};
use segment::SEGMENT_HEADER_BYTES;
pub(crate) use segment::Segment;
pub(crate) use segment::SegmentNumber;

/// Where some bytes lie in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) segment: SegmentNumber,
    pub(crate) at: u32,
    pub(crate) len: u32,
}

/// How far a journal has come: its last batch, and the chain to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) chain: Chain,
    pub(crate) commit: CommitNumber,
}

/// Where a journal begins: what came before has been folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) segment: SegmentNumber,
    pub(crate) link: Link,
}

/// How a journal is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) segment_bytes: u64,
    pub(crate) recent_bytes_max: usize,
}

/// A batch that was written.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) commit: CommitNumber,
    /// Where its payload lies.
    pub(crate) location: Location,
    pub(crate) payload: Bytes,
}

/// The bytes of a frame that is still to get its number: room for the header, then the payload.
pub(crate) struct Draft(Vec<u8>);

impl Draft {
    /// A frame with the payload that is put after what is there.
    pub(crate) fn with(put: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        put(&mut bytes);
        Self(bytes)
    }

    /// Whether a payload of so many bytes is short enough to be written.
    pub(crate) const fn may_have(payload_bytes: usize) -> bool {
        payload_bytes <= limits::JOURNAL_BATCH_BYTES_MAX
    }

    /// What was put.
    pub(crate) fn payload(&self) -> &[u8] {
        self.0.get(HEADER_BYTES..).unwrap_or_default()
    }
}

/// An open journal.
pub(crate) struct Journal {
    vfs: Arc<dyn Vfs>,
    secret: [u8; 16],
    sizes: Sizes,
    writer: Mutex<Writer>,
    /// Every segment that records may lie in.
    segments: RwLock<BTreeMap<SegmentNumber, Arc<Segment>>>,
    recent: Mutex<Recent>,
    durable: AtomicU64,
}

/// Where the next frame goes. Its lock gives commits their order.
struct Writer {
    segment: Arc<Segment>,
    end: u64,
    chain: Chain,
    last: CommitNumber,
    /// What the last frame said is durable.
    told: CommitNumber,
    /// Segments before the present one that a sync must still cover.
    unsynced: Vec<Arc<Segment>>,
    /// A segment that was made ahead.
    prepared: Option<Segment>,
    /// The last number that was given to a segment.
    numbered: SegmentNumber,
}

impl Journal {
    /// Writes a batch of a shard: it survives the death of this process when this returns.
    pub(crate) fn append(&self, shard: ShardNumber, draft: Draft) -> Result<Appended, StoreError> {
        let payload_bytes = u32::try_from(draft.payload().len()).unwrap_or(u32::MAX);
        let check = payload_check(draft.payload());
        let mut bytes = draft.0;
        let frame_end = bytes.len();
        bytes.resize(frame_bytes(frame_end - HEADER_BYTES), 0);

        let mut writer = self.writer();
        self.make_room(&mut writer, bytes.len() as u64)?;
        let commit = CommitNumber(writer.last.0 + 1);
        let durable = self.durable();
        let previous = writer.chain;
        let header =
            Header { kind: Kind::Batch, shard, payload_bytes, payload_check: check, previous, commit, durable };
        let at = writer.end;
        writer.write(header, &mut bytes)?;
        let segment = writer.segment.number;
        drop(writer);

        let payload = Bytes::from(bytes).slice(HEADER_BYTES..frame_end);
        // Segments are shorter than 4 GiB: `make_room` sees to it.
        let at = u32::try_from(at + HEADER_BYTES as u64).unwrap_or(u32::MAX);
        self.recent().keep(segment, at, payload.clone());
        Ok(Appended { commit, location: Location { segment, at, len: payload_bytes }, payload })
    }

    /// Makes everything written so far durable; gives the last commit of it.
    pub(crate) fn sync(&self) -> Result<CommitNumber, StoreError> {
        let mut writer = self.writer();
        let last = writer.last;
        let mut segments = std::mem::take(&mut writer.unsynced);
        segments.push(writer.segment.clone());
        drop(writer);
        for segment in segments {
            let name = segment.number.file_name();
            segment.file.sync().map_err(|error| StoreError::failed("syncing", name, error))?;
        }
        self.durable.fetch_max(last.0, Ordering::AcqRel);
        Ok(last)
    }

    /// Writes down what is durable when no batch has done so. Not synced: it only helps to tell
    /// damage from a torn tail, and says nothing that must not be lost.
    pub(crate) fn mark(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let durable = self.durable();
        if writer.told >= durable {
            return Ok(());
        }
        let mut bytes = vec![0; HEADER_BYTES];
        self.make_room(&mut writer, bytes.len() as u64)?;
        let header = Header {
            kind: Kind::Mark,
            shard: ShardNumber(0),
            payload_bytes: 0,
            payload_check: payload_check(&[]),
            previous: writer.chain,
            commit: writer.last,
            durable,
        };
        writer.write(header, &mut bytes)
    }

    /// Makes the next segment when the present one is half full, so that no commit waits for it.
    pub(crate) fn prepare(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        if writer.prepared.is_some() || writer.end < writer.segment.len / 2 {
            return Ok(());
        }
        let number = writer.next_number();
        drop(writer);
        let segment = match Segment::create(&*self.vfs, number, self.seed(number), self.sizes.segment_bytes) {
            // There is room in the present one yet, and there may be by the time it is full.
            Err(error) if is_full(&error) => return Ok(()),
            made => made?,
        };
        let mut writer = self.writer();
        if segment.number > writer.segment.number {
            writer.prepared = Some(segment);
            return Ok(());
        }
        // A commit that could not wait has made a later one, and segments are used in order.
        drop(writer);
        let name = number.file_name();
        self.vfs.remove(&name).map_err(|error| StoreError::failed("removing", name, error))
    }

    /// The bytes at a location, checked against the four bytes before them; `None` when its
    /// segment has been folded meanwhile.
    pub(crate) fn record(&self, location: Location) -> Result<Option<Bytes>, StoreError> {
        if let Some(bytes) = self.recent().get(location) {
            return Ok(Some(bytes));
        }
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        let segment = segments.get(&location.segment).cloned();
        drop(segments);
        let Some(segment) = segment else { return Ok(None) };
        let mut bytes = vec![0; 4 + location.len as usize];
        let from = u64::from(location.at).saturating_sub(4);
        let name = || location.segment.file_name();
        segment.file.read_at(&mut bytes, from).map_err(|error| StoreError::failed("reading", name(), error))?;
        let (check, record) = bytes.split_at(4);
        if crc32c::crc32c(record).to_be_bytes() != check {
            let detail = format!("the record of {} bytes at {} fails its check", location.len, location.at);
            return Err(StoreError::corrupt(name(), detail));
        }
        Ok(Some(Bytes::from(bytes).slice(4..)))
    }

    /// The segments before the present one, oldest first, which do not change any more.
    pub(crate) fn full(&self) -> Vec<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.values().filter(|segment| segment.ended.get().is_some()).cloned().collect()
    }

    /// Removes segments whose batches lie elsewhere by now. Not synced: what comes back after a
    /// crash is before the journal's beginning and is removed again.
    pub(crate) fn forget(&self, folded: &[Arc<Segment>]) -> Result<(), StoreError> {
        for segment in folded {
            let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
            segments.remove(&segment.number);
            drop(segments);
            let name = segment.number.file_name();
            self.vfs.remove(&name).map_err(|error| StoreError::failed("removing", name, error))?;
        }
        Ok(())
    }

    /// The last commit that is known to be durable.
    pub(crate) fn durable(&self) -> CommitNumber {
        CommitNumber(self.durable.load(Ordering::Acquire))
    }

    /// The last commit that was written.
    pub(crate) fn written(&self) -> CommitNumber {
        self.writer().last
    }

    /// Bytes of its files.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.values().map(|segment| segment.len).sum()
    }

    /// Bytes of the batches that are kept in memory.
    pub(crate) fn recent_bytes(&self) -> usize {
        self.recent().bytes()
    }

    /// Sees to it that the present segment has room for a frame.
    fn make_room(&self, writer: &mut Writer, bytes: u64) -> Result<(), StoreError> {
        if writer.end + bytes <= writer.segment.len {
            return Ok(());
        }
        let needed = SEGMENT_HEADER_BYTES as u64 + bytes;
        // One that was made ahead and is too small stays behind empty, which recovery allows.
        let segment = match writer.prepared.take().filter(|prepared| needed <= prepared.len) {
            Some(prepared) => prepared,
            None => {
                let number = writer.next_number();
                Segment::create(&*self.vfs, number, self.seed(number), self.sizes.segment_bytes.max(needed))?
            }
        };
        let segment = Arc::new(segment);
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        segments.insert(segment.number, segment.clone());
        drop(segments);
        let full = std::mem::replace(&mut writer.segment, segment);
        let link = Link { chain: writer.chain, commit: writer.last };
        assert!(full.ended.set(link).is_ok(), "a segment ends once");
        writer.unsynced.push(full);
        writer.end = SEGMENT_HEADER_BYTES as u64;
        Ok(())
    }

    fn seed(&self, number: SegmentNumber) -> Seed {
        Seed::of(self.secret, number.0)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    fn next_number(&mut self) -> SegmentNumber {
        self.numbered = self.numbered.next();
        self.numbered
    }

    /// Writes a frame at the end; the header's room is at the front of `bytes`.
    fn write(&mut self, header: Header, bytes: &mut [u8]) -> Result<(), StoreError> {
        let (head, chain) = header.to_bytes(self.segment.seed);
        let room = bytes.get_mut(..HEADER_BYTES).expect("a frame has room for its header");
        room.copy_from_slice(&head);
        let name = self.segment.number.file_name();
        self.segment.file.write_at(bytes, self.end).map_err(|error| StoreError::failed("writing", name, error))?;
        self.end += bytes.len() as u64;
        match header.kind {
            Kind::Batch => self.chain = chain,
            Kind::Mark => {}
        }
        self.last = header.commit;
        self.told = header.durable;
        Ok(())
    }
}
