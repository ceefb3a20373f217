//! Numbers and positions as bytes, big-endian, and a reader that never runs past the end.

use punctual_types::{Mark, Offset, Position, Seq, Time, TimelineId};

/// Bytes of a position: due time (6), sequence number (8).
pub(crate) const POSITION_BYTES: usize = 14;

pub(crate) fn put_time(to: &mut Vec<u8>, time: Time) {
    let [_, _, bytes @ ..] = time.unix_ms().to_be_bytes();
    to.extend_from_slice(&bytes);
}

pub(crate) fn put_position(to: &mut Vec<u8>, position: Position) {
    put_time(to, position.due);
    to.extend_from_slice(&position.seq.0.to_be_bytes());
}

pub(crate) fn put_mark(to: &mut Vec<u8>, mark: Mark) {
    to.extend_from_slice(&mark.offset.0.to_be_bytes());
    put_position(to, mark.position);
}

/// Reads what was put, in order. Everything is `None` once the bytes do not suffice.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How far it has read.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn time(&mut self) -> Option<Time> {
        let [a, b, c, d, e, f] = self.array()?;
        Time::from_unix_ms(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    pub(crate) fn position(&mut self) -> Option<Position> {
        Some(Position { due: self.time()?, seq: Seq(self.u64()?) })
    }

    pub(crate) fn mark(&mut self) -> Option<Mark> {
        Some(Mark { offset: Offset(self.u64()?), position: self.position()? })
    }

    pub(crate) fn timeline(&mut self) -> Option<TimelineId> {
        TimelineId::from_bytes(self.take(TimelineId::BYTES)?)
    }
}
