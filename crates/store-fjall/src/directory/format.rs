//! The format file: a few lines of text that say what the directory is.

use std::{fmt::Write, fs::File, io::ErrorKind, io::Read, path::Path};

use punctual_store_api::{StoreError, Unusable};

use punctual_types::limits::SHARDS_MAX;

use super::unusable;
use crate::limits::FORMAT_FILE_BYTES_MAX;

/// The format that this version writes, and the highest that it reads.
const VERSION: u32 = 1;
const TITLE: &str = "punctual data directory";
const STORE: &str = "fjall";

/// What was fixed when the directory was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) shards: u16,
    pub(crate) secret: [u8; 16],
}

/// Why a format file was not accepted.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// Whole, but not for this version or store.
    Foreign(String),
    /// Not as it was written.
    Damaged(&'static str),
}

impl Format {
    /// Whether a directory may have so many shards.
    pub(super) fn may_have(shards: u16) -> bool {
        (1..=SHARDS_MAX).contains(&shards)
    }

    /// The text of the file. Its last line is a check of all before it.
    pub(crate) fn to_text(self) -> String {
        let mut text = format!("{TITLE}\nformat {VERSION}\nstore {STORE}\nshards {}\nsecret ", self.shards);
        for byte in self.secret {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
        let check = check(&text);
        let _ = writeln!(text, "check {check:016x}");
        text
    }

    /// Reads the file of a directory; `None` when there is none.
    pub(super) fn read(file: &Path, directory: &Path) -> Result<Option<Self>, StoreError> {
        let opened = match File::open(file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(directory, "opening its format file", &error)),
        };
        let mut bytes = Vec::new();
        opened
            .take(FORMAT_FILE_BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(|error| unusable(directory, "reading its format file", &error))?;
        match Self::parse(&bytes) {
            Ok(format) => Ok(Some(format)),
            Err(Refused::Foreign(detail)) => {
                Err(StoreError::unusable(directory.display().to_string(), Unusable::Format, detail))
            }
            Err(Refused::Damaged(detail)) => Err(StoreError::corrupt(file.display().to_string(), detail)),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, Refused> {
        let text = str::from_utf8(bytes).map_err(|_| Refused::Damaged("it is not text"))?;
        // The check comes first and is the same in every format, so that a flipped bit is never
        // taken for a newer version.
        let (checked, last) = text.rsplit_once("check ").ok_or(Refused::Damaged("its check is missing"))?;
        if format!("{:016x}\n", check(checked)) != last {
            return Err(Refused::Damaged("its check does not match"));
        }
        let mut lines = checked.lines();
        if lines.next() != Some(TITLE) {
            return Err(Refused::Damaged("its title is missing"));
        }
        let mut value = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let version: u32 =
            value("format").and_then(|text| text.parse().ok()).ok_or(Refused::Damaged("its format is missing"))?;
        if version != VERSION {
            let detail = format!("it has format {version} and this version reads format {VERSION}");
            return Err(Refused::Foreign(detail));
        }
        let store = value("store").ok_or(Refused::Damaged("its store is missing"))?;
        if store != STORE {
            return Err(Refused::Foreign(format!("it was made by the store `{store}`, not by `{STORE}`")));
        }
        let shards = value("shards")
            .and_then(|text| text.parse().ok())
            .filter(|shards| Self::may_have(*shards))
            .ok_or(Refused::Damaged("its number of shards is missing or out of range"))?;
        let secret = value("secret").and_then(secret).ok_or(Refused::Damaged("its secret is missing"))?;
        Ok(Self { shards, secret })
    }
}

fn secret(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let mut secret = [0; 16];
    for (index, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(secret)
}

/// FNV-1a: sixteen digits that no single flipped bit leaves as they are.
fn check(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { shards: 16, secret: *b"0123456789abcdef" };
    const TEXT: &str = "punctual data directory\nformat 1\nstore fjall\nshards 16\n\
                        secret 30313233343536373839616263646566\ncheck ";

    #[test]
    fn a_format_file_is_six_lines_of_text() {
        let text = FORMAT.to_text();
        assert_eq!(text, format!("{TEXT}{:016x}\n", check(TEXT.strip_suffix("check ").expect("ends so"))));
        assert!(text.ends_with("\ncheck 1dbc15039c060ae8\n"), "{text}");
        assert_eq!(Format::parse(text.as_bytes()), Ok(FORMAT));
    }

    #[test]
    fn a_format_file_with_any_one_bit_flipped_or_cut_anywhere_is_damaged() {
        let text = FORMAT.to_text().into_bytes();
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let parsed = Format::parse(&flipped);
            assert!(matches!(parsed, Err(Refused::Damaged(_))), "bit {bit}: {parsed:?}");
        }
        for cut in 0..text.len() {
            let parsed = Format::parse(&text[..cut]);
            assert!(matches!(parsed, Err(Refused::Damaged(_))), "cut at {cut}: {parsed:?}");
        }
    }

    #[test]
    fn a_newer_format_and_another_store_are_foreign() {
        for (from, to) in [("format 1", "format 2"), ("store fjall", "store tide")] {
            let text = FORMAT.to_text().replace(from, to);
            let (checked, _) = text.rsplit_once("check ").expect("has a check");
            let text = format!("{checked}check {:016x}\n", check(checked));
            let parsed = Format::parse(text.as_bytes());
            assert!(matches!(parsed, Err(Refused::Foreign(_))), "{parsed:?}");
        }
    }
}
