//! When a message expires: a mark on the partition's expiry timeline, due at that time.

use bytes::Bytes;
use punctual_types::{Lane, MessageRef, Position};

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const WHAT: &str = "expiry mark";
const VERSION: u8 = 1;

/// What a mark says. It means nothing once its message does not stand there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryMark {
    /// Which message.
    pub message: MessageRef,
    /// Where it stands,
    pub position: Position,
    /// and on which lane.
    pub lane: Lane,
    /// Whether it was counted as expired by an earlier mark, which found it leased to somebody.
    pub counted: bool,
}

impl ExpiryMark {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = FieldWriter::new(VERSION, 64);
        out.bytes(1, &self.message.to_bytes()).bytes(2, &self.position.to_bytes());
        if self.lane != Lane::MAIN {
            out.bytes(3, &self.lane.to_bytes());
        }
        out.number(4, self.counted.into());
        out.finish()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(WHAT, VERSION, value)?;
        let (mut message, mut position, mut lane, mut counted) = (None, None, Some(Lane::MAIN), false);
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                1 => message = value.as_ref().try_into().ok().and_then(MessageRef::from_bytes),
                2 => position = Position::from_bytes(&value),
                3 => lane = value.as_ref().try_into().ok().and_then(Lane::from_bytes),
                4 => counted = fields.as_number(&value)? != 0,
                _ => {}
            }
        }
        let missing = || FormatError::new(WHAT, "does not say which message it means");
        Ok(Self {
            message: message.ok_or_else(missing)?,
            position: position.ok_or_else(missing)?,
            lane: lane.ok_or_else(missing)?,
            counted,
        })
    }
}
