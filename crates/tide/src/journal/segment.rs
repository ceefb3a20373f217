//! A segment: a file of frames with a header that says which one it is.

use std::sync::OnceLock;

use punctual_store_api::StoreError;

use super::{Link, frame::Seed};
use crate::{
    codec::Reader,
    vfs::{FileHandle, Vfs},
};

/// Bytes before the first frame.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 32;
const TITLE: [u8; 8] = *b"PNCTJRNL";
const VERSION: u32 = 1;
const PREFIX: &str = "journal.";

/// The number of a segment, from 1. Never given twice in a data directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentNumber(pub(crate) u32);

impl SegmentNumber {
    /// The number after this one.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    pub(crate) fn file_name(self) -> String {
        format!("{PREFIX}{:08x}", self.0)
    }

    /// The number in a file's name, if it is one of a segment.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        let digits = name.strip_prefix(PREFIX)?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        (Self(number).file_name() == name).then_some(Self(number))
    }
}

/// An open segment.
pub(crate) struct Segment {
    pub(crate) number: SegmentNumber,
    pub(crate) seed: Seed,
    pub(crate) file: FileHandle,
    /// Bytes that it has room for.
    pub(crate) len: u64,
    /// How far the journal had come when the next segment was begun.
    pub(crate) ended: OnceLock<Link>,
}

impl Segment {
    /// Makes a segment, whole and durable before anything is written into it.
    pub(crate) fn create(vfs: &dyn Vfs, number: SegmentNumber, seed: Seed, len: u64) -> Result<Self, StoreError> {
        let name = number.file_name();
        let failed = |error| StoreError::failed("making", &*name, error);
        let file = vfs.create(&name, len).map_err(failed)?;
        file.write_at(&header(number, seed), 0).map_err(failed)?;
        file.sync().map_err(|error| StoreError::failed("syncing", &*name, error))?;
        vfs.sync_directory().map_err(|error| StoreError::failed("syncing", vfs.shown(), error))?;
        Ok(Self { number, seed, file, len, ended: OnceLock::new() })
    }
}

/// The bytes before the first frame.
fn header(number: SegmentNumber, seed: Seed) -> [u8; SEGMENT_HEADER_BYTES] {
    let mut bytes = [0; SEGMENT_HEADER_BYTES];
    bytes[..8].copy_from_slice(&TITLE);
    bytes[8..12].copy_from_slice(&VERSION.to_be_bytes());
    bytes[12..16].copy_from_slice(&number.0.to_be_bytes());
    let check = seed.check(&bytes[..28]);
    bytes[28..].copy_from_slice(&check.to_be_bytes());
    bytes
}

/// What the beginning of a segment's file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    Whole,
    Damaged,
    /// Whole, of a version that is not ours to read.
    Foreign(u32),
}

/// Looks at the beginning of a segment's file.
pub(crate) fn beginning(bytes: &[u8], number: SegmentNumber, seed: Seed) -> Beginning {
    let parts = || {
        let mut reader = Reader::new(bytes.get(..SEGMENT_HEADER_BYTES)?);
        let (title, version, found) = (reader.array()?, reader.u32()?, reader.u32()?);
        reader.take(12)?;
        let is_whole = title == TITLE && found == number.0 && reader.u32()? == seed.check(bytes.get(..28)?);
        is_whole.then_some(version)
    };
    match parts() {
        Some(VERSION) => Beginning::Whole,
        Some(version) => Beginning::Foreign(version),
        None => Beginning::Damaged,
    }
}
