//! What has happened on a partition since its topic was made.

use bytes::Bytes;

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const VERSION: u8 = 1;

/// Counts that only rise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionTotals {
    /// Messages accepted.
    pub published: u64,
    /// Messages cancelled or replaced.
    pub cancelled: u64,
    /// Messages expired.
    pub expired: u64,
}

impl PartitionTotals {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = FieldWriter::new(VERSION, 32);
        out.number(1, self.published).number(2, self.cancelled).number(3, self.expired);
        out.finish()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new("partition totals", VERSION, value)?;
        let mut totals = Self::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                1 => totals.published = fields.as_number(&value)?,
                2 => totals.cancelled = fields.as_number(&value)?,
                3 => totals.expired = fields.as_number(&value)?,
                _ => {}
            }
        }
        Ok(totals)
    }
}
