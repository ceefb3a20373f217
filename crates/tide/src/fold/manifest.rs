//! The manifest: which files count, and where the journal goes on from them.
//!
//! It is replaced as a whole: written beside, synced, renamed, and the directory synced. What it
//! names was durable before; what it no longer names is removed after.

use std::io::{self, ErrorKind};

use punctual_store_api::{StoreError, Unusable};
use punctual_types::CommitNumber;

use crate::{
    codec::Reader,
    journal::{Link, SegmentNumber, Start, frame::Chain},
    limits::MANIFEST_BYTES_MAX,
    run::RunNumber,
    vfs::{Vfs, read_all},
};

pub(crate) const MANIFEST: &str = "manifest";
pub(crate) const MANIFEST_NEW: &str = "manifest.new";
const TITLE: [u8; 8] = *b"PNCTMNFS";
const VERSION: u32 = 1;

/// What counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// How many folds there were: the number of the last one's checkpoint, 0 for none.
    pub(crate) folds: u32,
    /// How many merges of runs there were.
    pub(crate) merges: u32,
    /// Where the journal goes on.
    pub(crate) start: Start,
    /// The runs, oldest first, each with its bytes.
    pub(crate) runs: Vec<(RunNumber, u64)>,
}

impl Manifest {
    /// The manifest of a directory; the first one, which names nothing, when there is none.
    pub(crate) fn read(vfs: &dyn Vfs) -> Result<Self, StoreError> {
        let bytes = match vfs.open(MANIFEST).and_then(|file| read_all(&file, MANIFEST_BYTES_MAX)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|error| StoreError::failed("reading", MANIFEST, error))?,
        };
        Self::parse(&bytes).ok_or_else(|| StoreError::corrupt(MANIFEST, "it is not what was written"))?.map_err(
            |version| {
                let detail = format!("its manifest has version {version} and this version reads version 1");
                StoreError::unusable(vfs.shown(), Unusable::Format, detail)
            },
        )
    }

    /// The number of the next run: each fold and each merge writes one at most.
    pub(crate) const fn next_run(&self) -> RunNumber {
        RunNumber(self.folds + self.merges + 1)
    }

    /// Puts this manifest in place of the one that is there, durably.
    pub(crate) fn write(&self, vfs: &dyn Vfs) -> Result<(), StoreError> {
        let replace = || -> io::Result<()> {
            match vfs.remove(MANIFEST_NEW) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let bytes = self.to_bytes();
            let file = vfs.create(MANIFEST_NEW, bytes.len() as u64)?;
            file.write_at(&bytes, 0)?;
            file.sync()?;
            vfs.rename(MANIFEST_NEW, MANIFEST)?;
            vfs.sync_directory()
        };
        replace().map_err(|error| StoreError::failed("replacing", MANIFEST, error))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = TITLE.to_vec();
        bytes.extend_from_slice(&VERSION.to_be_bytes());
        bytes.extend_from_slice(&self.folds.to_be_bytes());
        bytes.extend_from_slice(&self.merges.to_be_bytes());
        bytes.extend_from_slice(&self.start.segment.0.to_be_bytes());
        bytes.extend_from_slice(&self.start.link.chain.0.to_be_bytes());
        bytes.extend_from_slice(&self.start.link.commit.0.to_be_bytes());
        let runs = u32::try_from(self.runs.len()).expect("fewer runs than folds");
        bytes.extend_from_slice(&runs.to_be_bytes());
        for (number, len) in &self.runs {
            bytes.extend_from_slice(&number.0.to_be_bytes());
            bytes.extend_from_slice(&len.to_be_bytes());
        }
        let check = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&check.to_be_bytes());
        bytes
    }

    /// `None` when the bytes are damaged, an `Err` with the version when it is another.
    fn parse(bytes: &[u8]) -> Option<Result<Self, u32>> {
        let (checked, check) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        if check != crc32c::crc32c(checked).to_be_bytes() {
            return None;
        }
        let mut reader = Reader::new(checked);
        if reader.array()? != TITLE {
            return None;
        }
        let version = reader.u32()?;
        if version != VERSION {
            return Some(Err(version));
        }
        let (folds, merges) = (reader.u32()?, reader.u32()?);
        let segment = SegmentNumber(reader.u32()?);
        let link = Link { chain: Chain(reader.u32()?), commit: CommitNumber(reader.u64()?) };
        let mut runs = Vec::new();
        for _ in 0..reader.u32()? {
            runs.push((RunNumber(reader.u32()?), reader.u64()?));
        }
        reader.is_at_end().then_some(Ok(Self { folds, merges, start: Start { segment, link }, runs }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::SimulatedDisk;

    fn manifest() -> Manifest {
        let link = Link { chain: Chain(0x0102_0304), commit: CommitNumber(5) };
        let runs = vec![(RunNumber(3), 333), (RunNumber(4), 444)];
        Manifest { folds: 4, merges: 2, start: Start { segment: SegmentNumber(9), link }, runs }
    }

    #[test]
    fn a_manifest_comes_back_and_takes_the_place_of_an_earlier_one() {
        let disk = SimulatedDisk::default();
        assert_eq!(Manifest::read(&disk).expect("read"), Manifest::default());
        Manifest::default().write(&disk).expect("written");
        manifest().write(&disk).expect("written");
        disk.cut_power();
        disk.crash(1);
        assert_eq!(Manifest::read(&disk).expect("read"), manifest());
    }

    #[test]
    fn a_manifest_with_any_one_bit_flipped_or_cut_anywhere_is_refused() {
        let bytes = manifest().to_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Manifest::parse(&flipped), None, "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert_eq!(Manifest::parse(&bytes[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_manifest_beyond_its_bound_is_refused() {
        let disk = SimulatedDisk::default();
        disk.replace(MANIFEST, vec![0; usize::try_from(MANIFEST_BYTES_MAX).expect("small") + 1]);
        Manifest::read(&disk).expect_err("refused");
    }
}
