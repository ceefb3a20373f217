//! The fields of a catalog entry, by tag.

use bytes::Bytes;
use punctual_core::format::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};
use punctual_types::Time;

pub(super) const VERSION: u8 = 1;
const WHAT: &str = "catalog entry";

pub(super) fn error(detail: impl Into<String>) -> FormatError {
    FormatError { what: WHAT, detail: detail.into() }
}

/// Writes a number that may be missing, so that zero is told from none.
pub(super) fn optional(out: &mut FieldWriter, tag: u8, value: Option<u64>) {
    if let Some(value) = value {
        out.bytes(tag, &value.to_be_bytes());
    }
}

/// The fields of an entry by tag.
pub(super) struct Fields {
    found: Vec<(u8, Bytes)>,
}

impl Fields {
    pub(super) fn read(value: Bytes) -> Result<Self, FormatError> {
        let mut reader = FieldReader::new(WHAT, VERSION, value)?;
        let mut found = Vec::new();
        while let Some(field) = reader.next_field()? {
            found.push(field);
        }
        Ok(Self { found })
    }

    pub(super) fn bytes(&self, tag: u8) -> Option<&[u8]> {
        self.found.iter().find(|(found, _)| *found == tag).map(|(_, value)| value.as_ref())
    }

    pub(super) fn optional(&self, tag: u8) -> Result<Option<u64>, FormatError> {
        let Some(bytes) = self.bytes(tag) else { return Ok(None) };
        if bytes.len() > 8 {
            return Err(error(format!("field {tag} has more than 64 bits")));
        }
        Ok(Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
    }

    pub(super) fn number(&self, tag: u8) -> Result<u64, FormatError> {
        Ok(self.optional(tag)?.unwrap_or(0))
    }

    pub(super) fn narrow<N: TryFrom<u64>>(&self, tag: u8) -> Result<N, FormatError> {
        N::try_from(self.number(tag)?).map_err(|_| error(format!("field {tag} is too large")))
    }

    pub(super) fn time(&self, tag: u8) -> Result<Time, FormatError> {
        Time::from_unix_ms(self.number(tag)?).ok_or_else(|| error(format!("field {tag} lies after the last time")))
    }

    pub(super) fn real(&self, tag: u8) -> Result<f64, FormatError> {
        let bytes = self
            .bytes(tag)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| error(format!("field {tag} is not a real number")))?;
        Ok(f64::from_be_bytes(bytes))
    }

    pub(super) fn text(&self, tag: u8) -> Result<Option<String>, FormatError> {
        let text = |bytes: &[u8]| {
            std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| error(format!("field {tag} is not UTF-8")))
        };
        self.bytes(tag).map(text).transpose()
    }
}
