//! How far a subscription has come on a timeline: its floor. What it acked above lies in chunks.

use bytes::Bytes;
use punctual_types::{Offset, Time};

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const WHAT: &str = "reader";
const VERSION: u8 = 1;

/// A reader without what it acked above its floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderState {
    /// Everything below it is settled.
    pub floor: Offset,
    /// When it began to read where it does: made, or moved there.
    pub began_at: Time,
}

/// The stored form.
#[must_use]
pub fn encode(state: ReaderState) -> Bytes {
    let mut out = FieldWriter::new(VERSION, 24);
    out.number(1, state.floor.0).number(2, state.began_at.unix_ms());
    out.finish()
}

/// Reads the stored form.
///
/// # Errors
/// When it is damaged or of a later version.
pub fn decode(value: Bytes) -> Result<ReaderState, FormatError> {
    let mut fields = FieldReader::new(WHAT, VERSION, value)?;
    let mut state = ReaderState::default();
    while let Some((tag, value)) = fields.next_field()? {
        match tag {
            1 => state.floor = Offset(fields.as_number(&value)?),
            2 => state.began_at = fields.as_time(&value)?,
            _ => {}
        }
    }
    Ok(state)
}

/// Reads a chunk of acks: 16 words of 64 bits, big-endian, bit n of word w being offset
/// `chunk × 1024 + w × 64 + n`.
///
/// # Errors
/// When it is not 128 bytes.
pub fn decode_chunk(value: &[u8]) -> Result<[u64; 16], FormatError> {
    let (words, rest) = value.as_chunks::<8>();
    if words.len() != 16 || !rest.is_empty() {
        return Err(FormatError::new("ack chunk", format!("{} bytes, expected 128", value.len())));
    }
    let mut chunk = [0; 16];
    for (word, bytes) in chunk.iter_mut().zip(words) {
        *word = u64::from_be_bytes(*bytes);
    }
    Ok(chunk)
}

/// The stored form of a chunk of acks.
#[must_use]
pub fn encode_chunk(chunk: &[u64; 16]) -> Bytes {
    chunk.iter().flat_map(|word| word.to_be_bytes()).collect()
}
