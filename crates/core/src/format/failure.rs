//! Failed deliveries of a message that is back at its own place (its lease ended).

use bytes::Bytes;
use punctual_types::Time;

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};

const WHAT: &str = "failure";
const VERSION: u8 = 1;

/// How often a message failed at its place, when it was first delivered, and how it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Failed deliveries at this place.
    pub count: u32,
    /// The first delivery.
    pub first_delivered_at: Time,
    /// Not to be offered before this: an ordered subscription tries again in place.
    pub not_before: Option<Time>,
    /// What the consumer said.
    pub last_error: Option<String>,
}

impl Failure {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = FieldWriter::new(VERSION, 24);
        out.number(1, self.count.into()).number(2, self.first_delivered_at.unix_ms());
        out.number(3, self.not_before.map_or(0, Time::unix_ms)).text(4, self.last_error.as_deref());
        out.finish()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(WHAT, VERSION, value)?;
        let mut failure = Self::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                1 => {
                    failure.count = u32::try_from(fields.as_number(&value)?)
                        .map_err(|_| FormatError::new(WHAT, "has a count of more than 32 bits"))?;
                }
                2 => failure.first_delivered_at = fields.as_time(&value)?,
                3 => failure.not_before = Some(fields.as_time(&value)?).filter(|at| *at > Time::ZERO),
                4 => failure.last_error = Some(fields.as_text(&value)?),
                _ => {}
            }
        }
        Ok(failure)
    }
}
