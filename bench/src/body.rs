//! The bytes of a message: who sent it, its number, when and with which delay, a checksum.
//!
//! ```text
//!  0  magic       8 bytes   "pnctlbm1"
//!  8  run         8 bytes   tells this run from others in the same topic
//! 16  producer    4 bytes
//! 20  counter     8 bytes   from 0, dense per producer
//! 28  invoked     8 bytes   microseconds on the run's meter, before the publish was invoked
//! 36  delay       8 bytes   milliseconds
//! 44  filling     to the asked size
//! end checksum    8 bytes   FNV-1a of everything before
//! ```
//! Numbers are little-endian.

use bytes::{BufMut as _, BytesMut};
use punctual_broker_api::DelayMs;

use crate::stopwatch::Micros;

/// Bytes of the shortest body.
pub(crate) const BODY_BYTES_MIN: usize = 52;
const MAGIC: &[u8; 8] = b"pnctlbm1";
const CHECKSUM_BYTES: usize = 8;

/// What a body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) run: u64,
    pub(crate) producer: u32,
    pub(crate) counter: u64,
    pub(crate) invoked: Micros,
    pub(crate) delay: DelayMs,
}

impl Stamp {
    /// Appends a body of so many bytes.
    pub(crate) fn write(self, size: usize, into: &mut BytesMut) {
        assert!(size >= BODY_BYTES_MIN, "a body of {size} bytes cannot hold its stamp");
        let begin = into.len();
        into.put_slice(MAGIC);
        into.put_u64_le(self.run);
        into.put_u32_le(self.producer);
        into.put_u64_le(self.counter);
        into.put_u64_le(self.invoked.0);
        into.put_u64_le(self.delay.ms());
        // The filling differs from message to message, so that a store's compression is not
        // flattered more than by real messages.
        let mut filling = self.counter.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(self.producer);
        while into.len() - begin < size - CHECKSUM_BYTES {
            filling = filling.rotate_left(5).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let room = size - CHECKSUM_BYTES - (into.len() - begin);
            let bytes = filling.to_le_bytes();
            into.put_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
        let checksum = fnv1a(into.get(begin..).unwrap_or_default());
        into.put_u64_le(checksum);
    }

    /// Reads a body; `None` when it is not what [`Stamp::write`] wrote.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let (content, checksum) = body.split_at_checked(body.len().checked_sub(CHECKSUM_BYTES)?)?;
        if u64::from_le_bytes(checksum.try_into().ok()?) != fnv1a(content) {
            return None;
        }
        let long = |at: usize| Some(u64::from_le_bytes(content.get(at..at + 8)?.try_into().ok()?));
        let stamp = Self {
            run: long(8)?,
            producer: u32::from_le_bytes(content.get(16..20)?.try_into().ok()?),
            counter: long(20)?,
            invoked: Micros(long(28)?),
            delay: DelayMs::from_ms(long(36)?),
        };
        content.starts_with(MAGIC).then_some(stamp)
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run: 1, producer: 2, counter: 3, invoked: Micros(4), delay: DelayMs::from_ms(5) };

    fn written(size: usize) -> BytesMut {
        let mut body = BytesMut::new();
        STAMP.write(size, &mut body);
        body
    }

    #[test]
    fn a_body_comes_back_at_every_size() {
        for size in [BODY_BYTES_MIN, 53, 59, 60, 200, 4096] {
            let body = written(size);
            assert_eq!(body.len(), size);
            assert_eq!(Stamp::read(&body), Some(STAMP));
        }
    }

    #[test]
    fn any_bit_that_changes_is_noticed() {
        let body = written(80);
        for bit in 0..body.len() * 8 {
            let mut altered = body.to_vec();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Stamp::read(&altered), None, "bit {bit}");
        }
        for length in 0..body.len() {
            assert_eq!(Stamp::read(&body[..length]), None, "length {length}");
        }
    }
}
