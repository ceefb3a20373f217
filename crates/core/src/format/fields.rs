//! Tagged fields: how everything but keys is laid out.
//!
//! A value is a version byte followed by fields: a tag byte (never 0, never reused within a kind),
//! the length as a LEB128 number, the bytes. Fields that a reader does not know are passed over, so
//! that a later version may add some; a field that changes its meaning gets a new tag.

use bytes::{BufMut, Bytes};

use super::FormatError;

/// Writes tagged fields.
#[derive(Debug)]
pub struct FieldWriter {
    out: Vec<u8>,
}

impl FieldWriter {
    /// Begins a value of this version with room for so many bytes.
    #[must_use]
    pub fn new(version: u8, capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity + 1);
        out.push(version);
        Self { out }
    }

    /// Writes bytes.
    pub fn bytes(&mut self, tag: u8, value: &[u8]) -> &mut Self {
        self.out.push(tag);
        put_number(&mut self.out, value.len() as u64);
        self.out.extend_from_slice(value);
        self
    }

    /// Writes a number; zero is left out, since that is what a missing one reads as.
    pub fn number(&mut self, tag: u8, value: u64) -> &mut Self {
        if value != 0 {
            let zeros = value.leading_zeros() as usize / 8;
            let bytes = value.to_be_bytes();
            self.bytes(tag, bytes.get(zeros..).unwrap_or_default());
        }
        self
    }

    /// Writes a text if there is one.
    pub fn text(&mut self, tag: u8, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.bytes(tag, value.as_bytes());
        }
        self
    }

    /// The value.
    #[must_use]
    pub fn finish(self) -> Bytes {
        Bytes::from(self.out)
    }
}

/// Bytes that a field of so many bytes takes.
#[must_use]
pub const fn field_len(length: usize) -> usize {
    // A tag, and at most five bytes of length for what fits into 32 bits.
    6 + length
}

fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.put_u8((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// Reads tagged fields, sharing the bytes it is given.
#[derive(Debug)]
pub struct FieldReader {
    what: &'static str,
    rest: Bytes,
}

impl FieldReader {
    /// Begins to read a value of the given version.
    ///
    /// # Errors
    /// When it is empty or of another version.
    pub fn new(what: &'static str, version: u8, mut value: Bytes) -> Result<Self, FormatError> {
        match value.first() {
            Some(&found) if found == version => Ok(Self { what, rest: value.split_off(1) }),
            Some(found) => {
                Err(FormatError::new(what, format!("version {found}, this program reads version {version}")))
            }
            None => Err(FormatError::new(what, "no bytes")),
        }
    }

    /// The next field, or `None` at the end.
    ///
    /// # Errors
    /// When the bytes end within a field.
    pub fn next_field(&mut self) -> Result<Option<(u8, Bytes)>, FormatError> {
        let Some((&tag, after_tag)) = self.rest.split_first() else { return Ok(None) };
        let mut length: u64 = 0;
        let mut digits = 0;
        loop {
            let digit = *after_tag.get(digits).ok_or_else(|| FormatError::new(self.what, "ends within a length"))?;
            length |= u64::from(digit & 0x7f) << (7 * digits);
            digits += 1;
            if digit & 0x80 == 0 {
                break;
            }
            if digits > 4 {
                return Err(FormatError::new(self.what, "has a length of more than 32 bits"));
            }
        }
        let start = 1 + digits;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        match end {
            Some(end) if end <= self.rest.len() => {
                let value = self.rest.slice(start..end);
                self.rest = self.rest.split_off(end);
                Ok(Some((tag, value)))
            }
            _ => Err(FormatError::new(
                self.what,
                format!("field {tag} ends {length} bytes past its start, beyond the value"),
            )),
        }
    }

    /// A field's bytes as a number.
    ///
    /// # Errors
    /// When they are more than eight.
    pub fn as_number(&self, value: &[u8]) -> Result<u64, FormatError> {
        if value.len() > 8 {
            return Err(FormatError::new(self.what, "has a number of more than 64 bits"));
        }
        Ok(value.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A field's bytes as a text.
    ///
    /// # Errors
    /// When they are not UTF-8.
    pub fn as_text(&self, value: &[u8]) -> Result<String, FormatError> {
        std::str::from_utf8(value)
            .map(str::to_owned)
            .map_err(|_| FormatError::new(self.what, "has a text that is not UTF-8"))
    }

    /// A field's bytes as a time.
    ///
    /// # Errors
    /// When it lies after the year 9999.
    pub fn as_time(&self, value: &[u8]) -> Result<punctual_types::Time, FormatError> {
        punctual_types::Time::from_unix_ms(self.as_number(value)?)
            .ok_or_else(|| FormatError::new(self.what, "has a time after the year 9999"))
    }
}
