//! A frame: one batch, or a mark, with a check over it and a chain to the frame before.
//!
//! The header has a check of its own that covers the payload's check, so that only headers are
//! chained and a payload can be checked outside the lock. The check begins with the segment's
//! [`Seed`]: what an older segment left in a recycled file never passes.
//!
//! A frame says which commits were known to be durable when it was written. That is what tells
//! damage from a torn tail: what a later frame calls durable cannot have been torn.

use punctual_types::{CommitNumber, ShardNumber};

use crate::codec::Reader;

/// Bytes of a frame's header.
pub(crate) const HEADER_BYTES: usize = 40;
/// Frames begin at multiples of this, so that one behind a damaged place is found sooner.
pub(crate) const ALIGNMENT: usize = 8;

/// What the checks of one segment begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(u32);

/// The check of a frame's header, which the next frame repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain(pub(crate) u32);

/// Kinds of frames. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A batch of a shard.
    Batch = 1,
    /// Nothing but what is known to be durable; has the number of the commit before it.
    Mark = 2,
}

/// What stands at the beginning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) shard: ShardNumber,
    pub(crate) payload_bytes: u32,
    pub(crate) payload_check: u32,
    /// Of the frame before, over all segments.
    pub(crate) previous: Chain,
    pub(crate) commit: CommitNumber,
    /// The last commit that was durable when the frame was written.
    pub(crate) durable: CommitNumber,
}

impl Seed {
    /// The seed of a segment of a data directory.
    pub(crate) fn of(secret: [u8; 16], segment: u32) -> Self {
        Self(crc32c::crc32c_append(crc32c::crc32c(&secret), &segment.to_be_bytes()))
    }

    /// The seed of a checkpoint, which is kept in frames too.
    pub(crate) fn of_checkpoint(secret: [u8; 16], number: u32) -> Self {
        Self(crc32c::crc32c_append(Self::of(secret, number).0, b"checkpoint"))
    }

    /// A check over some bytes.
    pub(crate) fn check(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}

/// The check of a payload. Without a seed: the header's check covers it.
pub(crate) fn payload_check(payload: &[u8]) -> u32 {
    crc32c::crc32c(payload)
}

/// Bytes of a frame with its padding.
pub(crate) fn frame_bytes(payload_bytes: usize) -> usize {
    (HEADER_BYTES + payload_bytes).next_multiple_of(ALIGNMENT)
}

impl Header {
    /// The bytes of a header, and its check.
    pub(crate) fn to_bytes(self, seed: Seed) -> ([u8; HEADER_BYTES], Chain) {
        let mut bytes = [0; HEADER_BYTES];
        let mut rest = bytes.as_mut_slice();
        let mut put = |part: &[u8]| {
            let (front, back) = std::mem::take(&mut rest).split_at_mut(part.len());
            front.copy_from_slice(part);
            rest = back;
        };
        put(&[0; 4]);
        put(&self.payload_bytes.to_be_bytes());
        put(&self.payload_check.to_be_bytes());
        put(&self.previous.0.to_be_bytes());
        put(&self.commit.0.to_be_bytes());
        put(&self.durable.0.to_be_bytes());
        put(&[self.kind as u8, 0]);
        put(&self.shard.0.to_be_bytes());
        let check = seed.check(&bytes[4..]);
        bytes[..4].copy_from_slice(&check.to_be_bytes());
        (bytes, Chain(check))
    }

    /// The header that begins some bytes, and its check; `None` when there is none of this segment.
    pub(crate) fn from_bytes(bytes: &[u8], seed: Seed) -> Option<(Self, Chain)> {
        let mut reader = Reader::new(bytes.get(..HEADER_BYTES)?);
        let check = reader.u32()?;
        let (payload_bytes, payload_check) = (reader.u32()?, reader.u32()?);
        let previous = Chain(reader.u32()?);
        let (commit, durable) = (CommitNumber(reader.u64()?), CommitNumber(reader.u64()?));
        let kind = match reader.u8()? {
            1 => Kind::Batch,
            2 => Kind::Mark,
            _ => return None,
        };
        reader.take(1)?;
        let shard = ShardNumber(reader.u16()?);
        if durable > commit || check != seed.check(bytes.get(4..HEADER_BYTES)?) {
            return None;
        }
        Some((Self { kind, shard, payload_bytes, payload_check, previous, commit, durable }, Chain(check)))
    }
}

/// A frame whose checks hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) header: Header,
    pub(crate) chain: Chain,
    pub(crate) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame that begins some bytes, if there is a whole one.
    pub(crate) fn first_of(bytes: &'a [u8], seed: Seed) -> Option<Self> {
        let (header, chain) = Header::from_bytes(bytes, seed)?;
        let end = HEADER_BYTES.checked_add(usize::try_from(header.payload_bytes).ok()?)?;
        let payload = bytes.get(HEADER_BYTES..end)?;
        (payload_check(payload) == header.payload_check).then_some(Self { header, chain, payload })
    }

    /// Bytes that it takes up.
    pub(crate) fn bytes(&self) -> usize {
        frame_bytes(self.payload.len())
    }
}
