//! Opening a journal: what is there is synced, checked, shown, and what was torn is cut off.
//!
//! Frames are shown as long as each continues the chain. Where it breaks, everything behind the
//! break is searched for frames that are whole by themselves. If one of them says that a commit
//! behind the break was durable, bytes that were promised are gone: that is damage, and the
//! journal is refused and left as it is. Otherwise the break is where a crash tore what nobody had
//! been promised, in whatever order the system had written it: it is cut off.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, OnceLock, RwLock, atomic::AtomicU64},
};

use punctual_store_api::{StoreError, Unusable};
use punctual_types::{CommitNumber, ShardNumber};

use super::{
    Journal, Link, Location, Recent, Sizes, Start, Writer,
    frame::{ALIGNMENT, Frame, HEADER_BYTES, Kind, Seed},
    segment::{Beginning, SEGMENT_HEADER_BYTES, Segment, SegmentNumber, beginning},
};
use crate::vfs::{FileHandle, Vfs, read_all};

/// Bytes of a segment's file. More is none of ours.
const SEGMENT_BYTES_MAX: u64 = u32::MAX as u64;

/// A batch that was found.
pub(crate) struct Found<'a> {
    pub(crate) shard: ShardNumber,
    pub(crate) location: Location,
    pub(crate) payload: &'a [u8],
}

/// An opened journal, and what opening found.
pub(crate) struct Recovery {
    pub(crate) journal: Journal,
    /// Batches that were found whole.
    pub(crate) batches: u64,
    /// Where the journal was torn, if it was: file and place. Everything behind was cut off.
    pub(crate) torn: Option<(String, u64)>,
}

/// A file of a segment as it was found.
struct File {
    number: SegmentNumber,
    seed: Seed,
    handle: FileHandle,
    len: u64,
}

/// How far the chain was followed.
struct Progress {
    link: Link,
    batches: u64,
    /// The file and place behind the last frame that continued the chain.
    end: Option<(usize, u64)>,
    /// How far it had come at the end of each file.
    links: Vec<Link>,
    /// The last commit that some frame says was durable.
    durable: CommitNumber,
    /// Batches behind that: number, file and where the batch before ends.
    unproven: VecDeque<(CommitNumber, usize, u64)>,
}

impl Recovery {
    /// Opens a journal and shows every batch in it, oldest first.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        secret: [u8; 16],
        sizes: Sizes,
        begin: Start,
        show: &mut dyn FnMut(Found<'_>) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let files = open_files(&**vfs, secret, begin)?;
        sync_found(&**vfs, &files)?;
        let progress = follow_all(&files, begin, show)?;
        let torn = break_behind(&files, &progress)?;
        write_again(&files, &progress)?;
        cut_off(&files, &progress)?;
        let journal = start(vfs, secret, sizes, begin, files, &progress)?;
        Ok(Self { journal, batches: progress.batches, torn })
    }
}

/// Looks at a journal without changing anything: how many batches a start would find, and where it
/// would cut off what was torn.
pub(crate) fn verify(
    vfs: &dyn Vfs,
    secret: [u8; 16],
    begin: Start,
    show: &mut dyn FnMut(Found<'_>) -> Result<(), StoreError>,
) -> Result<(u64, Option<(String, u64)>), StoreError> {
    let files = open_files(vfs, secret, begin)?;
    let progress = follow_all(&files, begin, show)?;
    Ok((progress.batches, break_behind(&files, &progress)?))
}

fn follow_all(
    files: &[File],
    begin: Start,
    show: &mut dyn FnMut(Found<'_>) -> Result<(), StoreError>,
) -> Result<Progress, StoreError> {
    let mut progress = Progress::from(begin.link);
    for (index, file) in files.iter().enumerate() {
        file.follow(&file.read()?, index, &mut progress, show)?;
    }
    Ok(progress)
}

/// Whole segments that were read at once.
pub(crate) struct Replayed {
    /// How far the journal had come with them.
    pub(crate) link: Link,
    segments: BTreeMap<SegmentNumber, Vec<u8>>,
}

impl Replayed {
    /// The bytes at a location, if it lies in these segments. They have been checked.
    pub(crate) fn record(&self, location: Location) -> Option<&[u8]> {
        let from = usize::try_from(location.at).ok()?;
        self.segments.get(&location.segment)?.get(from..from.checked_add(location.len as usize)?)
    }
}

/// Shows every batch of some whole segments again, oldest first, and checks that none is missing.
pub(crate) fn replay(
    segments: &[Arc<Segment>],
    from: Link,
    show: &mut dyn FnMut(Found<'_>) -> Result<(), StoreError>,
) -> Result<Replayed, StoreError> {
    let mut progress = Progress::from(from);
    let mut read = BTreeMap::new();
    for (index, segment) in segments.iter().enumerate() {
        let (number, seed, handle) = (segment.number, segment.seed, segment.file.clone());
        let file = File { number, seed, handle, len: segment.len };
        let bytes = file.read()?;
        file.follow(&bytes, index, &mut progress, show)?;
        read.insert(number, bytes);
        if segment.ended.get() != Some(&progress.link) {
            let detail = format!("it could be read up to commit {} only", progress.link.commit);
            return Err(StoreError::corrupt(file.name(), detail));
        }
    }
    Ok(Replayed { link: progress.link, segments: read })
}

/// The files of the journal in order, from its beginning on.
fn open_files(vfs: &dyn Vfs, secret: [u8; 16], begin: Start) -> Result<Vec<File>, StoreError> {
    let names = vfs.list().map_err(|error| StoreError::failed("listing", vfs.shown(), error))?;
    let mut numbers: Vec<SegmentNumber> = names.iter().filter_map(|name| SegmentNumber::of_file(name)).collect();
    // What lies before the first has been folded, and a crash has kept it from being removed.
    numbers.retain(|number| *number >= begin.segment);
    numbers.sort_unstable();
    if numbers.is_empty() && begin != Start::default() {
        let detail = format!("it goes on from `{}` and there is no such file", begin.segment.file_name());
        return Err(StoreError::corrupt("the journal", detail));
    }
    let mut files = Vec::with_capacity(numbers.len());
    for number in numbers {
        let name = number.file_name();
        let failed = |error| StoreError::failed("opening", &*name, error);
        let handle = vfs.open(&name).map_err(failed)?;
        let len = handle.len().map_err(failed)?;
        files.push(File { number, seed: Seed::of(secret, number.0), handle, len });
    }
    Ok(files)
}

/// A process that died may have written without syncing; what it wrote could be read now and yet be
/// lost by the next power cut, so it is made safe before it is read.
fn sync_found(vfs: &dyn Vfs, files: &[File]) -> Result<(), StoreError> {
    for file in files {
        file.handle.sync().map_err(|error| StoreError::failed("syncing", file.name(), error))?;
    }
    vfs.sync_directory().map_err(|error| StoreError::failed("syncing", vfs.shown(), error))
}

impl File {
    fn name(&self) -> String {
        self.number.file_name()
    }

    fn read(&self) -> Result<Vec<u8>, StoreError> {
        read_all(&self.handle, SEGMENT_BYTES_MAX).map_err(|error| StoreError::failed("reading", self.name(), error))
    }

    /// Shows the batches of this file, which has these bytes, that continue the chain.
    fn follow(
        &self,
        bytes: &[u8],
        index: usize,
        progress: &mut Progress,
        show: &mut dyn FnMut(Found<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let is_whole = match beginning(bytes, self.number, self.seed) {
            Beginning::Whole => true,
            Beginning::Damaged => false,
            Beginning::Foreign(version) => {
                let detail = format!("it has journal format {version} and this version reads format 1");
                return Err(StoreError::unusable(self.name(), Unusable::Format, detail));
            }
        };
        let mut at = SEGMENT_HEADER_BYTES;
        // Behind the last batch: marks between two batches are part of the row as well.
        let mut begin = at as u64;
        while let Some(frame) = bytes.get(at..).and_then(|rest| Frame::first_of(rest, self.seed)) {
            if !progress.is_continued_by(&frame) {
                break;
            }
            at += frame.bytes();
            progress.prove(frame.header.durable);
            if frame.header.kind == Kind::Mark {
                // Not a link of the chain, so that a segment with nothing else can be removed.
                progress.end = progress.end.map(|end| if end.0 == index { (index, at as u64) } else { end });
                continue;
            }
            if !is_whole {
                // A segment is made durable before anything is written into it.
                return Err(StoreError::corrupt(self.name(), "its first 32 bytes are not what was written"));
            }
            let payload = at - frame.bytes() + HEADER_BYTES;
            let location = Location {
                segment: self.number,
                at: u32::try_from(payload).unwrap_or(u32::MAX),
                len: frame.header.payload_bytes,
            };
            show(Found { shard: frame.header.shard, location, payload: frame.payload })?;
            progress.batches += 1;
            progress.unproven.push_back((frame.header.commit, index, begin));
            begin = at as u64;
            progress.link = Link { chain: frame.chain, commit: frame.header.commit };
            progress.end = Some((index, at as u64));
        }
        progress.links.push(progress.link);
        Ok(())
    }

    /// The last commit that a frame behind a place says is durable, and where that frame is.
    fn durable_behind(&self, place: u64) -> Result<Option<(CommitNumber, u64)>, StoreError> {
        let bytes = self.read()?;
        let mut at = usize::try_from(place).unwrap_or(usize::MAX).next_multiple_of(ALIGNMENT);
        let mut latest = None;
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEADER_BYTES) {
            match Frame::first_of(rest, self.seed) {
                Some(frame) => {
                    latest = latest.max(Some((frame.header.durable, at as u64)));
                    at += frame.bytes();
                }
                None => at += ALIGNMENT,
            }
        }
        Ok(latest)
    }
}

impl Progress {
    fn from(link: Link) -> Self {
        let (links, unproven) = (Vec::new(), VecDeque::new());
        Self { link, batches: 0, end: None, links, durable: CommitNumber(0), unproven }
    }

    fn prove(&mut self, durable: CommitNumber) {
        self.durable = self.durable.max(durable);
        while self.unproven.front().is_some_and(|(commit, _, _)| *commit <= self.durable) {
            self.unproven.pop_front();
        }
    }

    fn end_of_chain(&self) -> (usize, u64) {
        self.end.unwrap_or((0, SEGMENT_HEADER_BYTES as u64))
    }

    fn is_continued_by(&self, frame: &Frame<'_>) -> bool {
        let expected = match frame.header.kind {
            Kind::Batch => self.link.commit.0 + 1,
            Kind::Mark => self.link.commit.0,
        };
        frame.header.previous == self.link.chain && frame.header.commit.0 == expected
    }
}

/// Where the chain ends and whether something was torn there; an error when what lies behind proves
/// that the chain is damaged.
fn break_behind(files: &[File], progress: &Progress) -> Result<Option<(String, u64)>, StoreError> {
    let (first, end) = progress.end_of_chain();
    let mut is_torn = false;
    for (index, file) in files.iter().enumerate().skip(first) {
        let place = if index == first { end } else { SEGMENT_HEADER_BYTES as u64 };
        if let Some((durable, at)) = file.durable_behind(place)? {
            is_torn = true;
            if durable > progress.link.commit {
                let (broken, last) = (files.get(first).map_or_else(String::new, File::name), progress.link.commit);
                let detail = format!(
                    "after commit {last} nothing can be read at byte {end}, and byte {at} of `{}` says that commit \
                     {durable} was durable",
                    file.name()
                );
                return Err(StoreError::corrupt(broken, detail));
            }
        }
    }
    let Some(file) = files.get(first) else { return Ok(None) };
    is_torn |= file.read()?.get(usize::try_from(end).unwrap_or(usize::MAX)..).is_some_and(is_written);
    Ok(is_torn.then(|| (file.name(), end)))
}

/// Writes again what no frame says was durable. If a sync of the process before has failed, the
/// system may have dropped what it could not write and yet show it to us, and say yes to our sync
/// (it has nothing to write any more). What we write ourselves it has to keep.
fn write_again(files: &[File], progress: &Progress) -> Result<(), StoreError> {
    let Some((_, first, begin)) = progress.unproven.front() else { return Ok(()) };
    let (last, end) = progress.end_of_chain();
    for (index, file) in files.iter().enumerate().take(last + 1).skip(*first) {
        let from = if index == *first { *begin } else { SEGMENT_HEADER_BYTES as u64 };
        let to = if index == last { end } else { file.len };
        let mut bytes = file.read()?;
        bytes.truncate(usize::try_from(to).unwrap_or(usize::MAX));
        let rest = bytes.get(usize::try_from(from).unwrap_or(usize::MAX)..).unwrap_or_default();
        file.handle.write_at(rest, from).map_err(|error| StoreError::failed("writing", file.name(), error))?;
        file.handle.sync().map_err(|error| StoreError::failed("syncing", file.name(), error))?;
    }
    Ok(())
}

/// Cuts off what lies behind the end of the chain.
fn cut_off(files: &[File], progress: &Progress) -> Result<(), StoreError> {
    let (first, end) = progress.end_of_chain();
    let Some(file) = files.get(first).filter(|file| file.len > end) else { return Ok(()) };
    let failed = |doing| move |error| StoreError::failed(doing, file.name(), error);
    file.handle.set_len(end).map_err(failed("cutting"))?;
    file.handle.sync().map_err(failed("syncing"))
}

fn is_written(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte != 0)
}

/// Begins a new segment behind what was found, and removes those without a batch.
fn start(
    vfs: &Arc<dyn Vfs>,
    secret: [u8; 16],
    sizes: Sizes,
    begin: Start,
    files: Vec<File>,
    progress: &Progress,
) -> Result<Journal, StoreError> {
    let number = SegmentNumber(files.last().map_or(begin.segment.0, |file| file.number.0) + 1);
    let segment = Arc::new(Segment::create(&**vfs, number, Seed::of(secret, number.0), sizes.segment_bytes)?);
    // Only now, so that there is a journal at any time. One that comes back because its removal was
    // not synced does no harm: what did not continue the chain before does not later.
    let kept = progress.end.map_or(0, |(last, _)| last + 1);
    for file in files.iter().skip(kept) {
        vfs.remove(&file.name()).map_err(|error| StoreError::failed("removing", file.name(), error))?;
    }
    let mut segments: BTreeMap<SegmentNumber, Arc<Segment>> = files
        .into_iter()
        .take(kept)
        .enumerate()
        .map(|(index, file)| {
            let end = progress.end.filter(|(last, _)| *last == index).map_or(file.len, |(_, end)| end.min(file.len));
            let File { number, seed, handle, .. } = file;
            let ended = progress.links.get(index).map_or_else(OnceLock::new, |link| OnceLock::from(*link));
            (number, Arc::new(Segment { number, seed, file: handle, len: end, ended }))
        })
        .collect();
    segments.insert(number, segment.clone());
    let writer = Writer {
        segment,
        end: SEGMENT_HEADER_BYTES as u64,
        chain: progress.link.chain,
        last: progress.link.commit,
        // Told anew by the first frame, and by a mark if there is none.
        told: CommitNumber(0),
        unsynced: Vec::new(),
        prepared: None,
        numbered: number,
    };
    Ok(Journal {
        vfs: vfs.clone(),
        secret,
        sizes,
        writer: Mutex::new(writer),
        segments: RwLock::new(segments),
        recent: Mutex::new(Recent::new(sizes.recent_bytes_max)),
        // Everything that was found has been synced.
        durable: AtomicU64::new(progress.link.commit.0),
    })
}
