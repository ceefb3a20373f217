//! What a subscription has done on a partition.

use bytes::Bytes;

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const VERSION: u8 = 1;

/// Counts since the subscription was made. `delivered` is written with whatever is written next, so
/// a crash may lose the last deliveries from it; the others are written with what they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionTotals {
    /// Deliveries made.
    pub delivered: u64,
    /// Deliveries acked.
    pub acked: u64,
    /// Deliveries that failed: nacked, or their lease ended.
    pub failed: u64,
    /// Messages put onto the retry timeline.
    pub retried: u64,
    /// Messages dead-lettered.
    pub dead: u64,
    /// Messages that its filter passed over.
    pub filtered: u64,
    /// Messages that expired for it.
    pub expired: u64,
}

impl SubscriptionTotals {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = FieldWriter::new(VERSION, 64);
        out.number(1, self.delivered).number(2, self.acked).number(3, self.failed);
        out.number(4, self.retried).number(5, self.dead).number(6, self.filtered);
        out.number(7, self.expired);
        out.finish()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new("subscription totals", VERSION, value)?;
        let mut totals = Self::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                1 => totals.delivered = fields.as_number(&value)?,
                2 => totals.acked = fields.as_number(&value)?,
                3 => totals.failed = fields.as_number(&value)?,
                4 => totals.retried = fields.as_number(&value)?,
                5 => totals.dead = fields.as_number(&value)?,
                6 => totals.filtered = fields.as_number(&value)?,
                7 => totals.expired = fields.as_number(&value)?,
                _ => {}
            }
        }
        Ok(totals)
    }
}
