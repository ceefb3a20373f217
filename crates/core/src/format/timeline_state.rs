//! What is kept of a timeline beside its records.

use bytes::Bytes;
use punctual_types::{Mark, Offset, Position, Seq};

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const WHAT: &str = "timeline";
const VERSION: u8 = 1;

/// A timeline's line, floor and count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineState {
    /// Where the now-line stands: everything at or before it has crossed.
    pub line: Mark,
    /// Everything at or before it is dropped.
    pub floor: Mark,
    /// Records ahead of the line.
    pub scheduled: u64,
}

impl TimelineState {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = FieldWriter::new(VERSION, 64);
        out.number(1, self.line.offset.0)
            .number(2, self.line.position.due.unix_ms())
            .number(3, self.line.position.seq.0);
        out.number(4, self.floor.offset.0)
            .number(5, self.floor.position.due.unix_ms())
            .number(6, self.floor.position.seq.0);
        out.number(7, self.scheduled);
        out.finish()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(WHAT, VERSION, value)?;
        let mut state = Self { line: Mark::default(), floor: Mark::default(), scheduled: 0 };
        let at = |position: &mut Position, seq| position.seq = Seq(seq);
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                1 => state.line.offset = Offset(fields.as_number(&value)?),
                2 => state.line.position.due = fields.as_time(&value)?,
                3 => at(&mut state.line.position, fields.as_number(&value)?),
                4 => state.floor.offset = Offset(fields.as_number(&value)?),
                5 => state.floor.position.due = fields.as_time(&value)?,
                6 => at(&mut state.floor.position, fields.as_number(&value)?),
                7 => state.scheduled = fields.as_number(&value)?,
                _ => {}
            }
        }
        if state.floor.offset > state.line.offset {
            return Err(FormatError::new(WHAT, "the floor lies ahead of the line"));
        }
        Ok(state)
    }
}
