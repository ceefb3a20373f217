//! The format file: a few lines of text that say what a data directory is, whichever store made it.

use std::fmt::Write;

use punctual_types::limits::SHARDS_MAX;

/// The format that this version writes, and the highest that it reads.
const VERSION: u32 = 1;
const TITLE: &str = "punctual data directory";

/// What was fixed when the directory was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryFormat {
    /// How many shards it has.
    pub shards: u16,
    /// The secret that was made at random with it.
    pub secret: [u8; 16],
}

/// Why a format file was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum FormatRefused {
    /// Whole, but not for this version or store.
    Foreign(String),
    /// Not as it was written.
    Damaged(&'static str),
}

impl DirectoryFormat {
    /// Name of the file.
    pub const FILE: &str = "punctual.format";

    /// Whether a directory may have so many shards.
    #[must_use]
    pub fn may_have(shards: u16) -> bool {
        (1..=SHARDS_MAX).contains(&shards)
    }

    /// The text of the file, for a directory of the store of this name. Its last line is a check of
    /// all before it.
    #[must_use]
    pub fn to_text(self, store: &str) -> String {
        let mut text = format!("{TITLE}\nformat {VERSION}\nstore {store}\nshards {}\nsecret ", self.shards);
        for byte in self.secret {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
        let check = check(&text);
        let _ = writeln!(text, "check {check:016x}");
        text
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// When it is damaged, or says that the directory is of another version or store.
    pub fn parse(bytes: &[u8], store: &str) -> Result<Self, FormatRefused> {
        let text = str::from_utf8(bytes).map_err(|_| FormatRefused::Damaged("it is not text"))?;
        // The check comes first and is the same in every format, so that a flipped bit is never
        // taken for a newer version.
        let (checked, last) = text.rsplit_once("check ").ok_or(FormatRefused::Damaged("its check is missing"))?;
        if format!("{:016x}\n", check(checked)) != last {
            return Err(FormatRefused::Damaged("its check does not match"));
        }
        let mut lines = checked.lines();
        if lines.next() != Some(TITLE) {
            return Err(FormatRefused::Damaged("its title is missing"));
        }
        let mut value = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let version: u32 = value("format")
            .and_then(|text| text.parse().ok())
            .ok_or(FormatRefused::Damaged("its format is missing"))?;
        if version != VERSION {
            let detail = format!("it has format {version} and this version reads format {VERSION}");
            return Err(FormatRefused::Foreign(detail));
        }
        let made_by = value("store").ok_or(FormatRefused::Damaged("its store is missing"))?;
        if made_by != store {
            return Err(FormatRefused::Foreign(format!("it was made by the store `{made_by}`, not by `{store}`")));
        }
        let shards = value("shards")
            .and_then(|text| text.parse().ok())
            .filter(|shards| Self::may_have(*shards))
            .ok_or(FormatRefused::Damaged("its number of shards is missing or out of range"))?;
        let secret = value("secret").and_then(secret).ok_or(FormatRefused::Damaged("its secret is missing"))?;
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

    const FORMAT: DirectoryFormat = DirectoryFormat { shards: 16, secret: *b"0123456789abcdef" };
    const TEXT: &str = "punctual data directory\nformat 1\nstore fjall\nshards 16\n\
                        secret 30313233343536373839616263646566\ncheck ";

    #[test]
    fn a_format_file_is_six_lines_of_text() {
        let text = FORMAT.to_text("fjall");
        assert_eq!(text, format!("{TEXT}{:016x}\n", check(TEXT.strip_suffix("check ").expect("ends so"))));
        assert!(text.ends_with("\ncheck 1dbc15039c060ae8\n"), "{text}");
        assert_eq!(DirectoryFormat::parse(text.as_bytes(), "fjall"), Ok(FORMAT));
    }

    #[test]
    fn a_format_file_with_any_one_bit_flipped_or_cut_anywhere_is_damaged() {
        let text = FORMAT.to_text("fjall").into_bytes();
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let parsed = DirectoryFormat::parse(&flipped, "fjall");
            assert!(matches!(parsed, Err(FormatRefused::Damaged(_))), "bit {bit}: {parsed:?}");
        }
        for cut in 0..text.len() {
            let parsed = DirectoryFormat::parse(&text[..cut], "fjall");
            assert!(matches!(parsed, Err(FormatRefused::Damaged(_))), "cut at {cut}: {parsed:?}");
        }
    }

    #[test]
    fn a_newer_format_and_another_store_are_foreign() {
        for (from, to) in [("format 1", "format 2"), ("store fjall", "store tide")] {
            let text = FORMAT.to_text("fjall").replace(from, to);
            let (checked, _) = text.rsplit_once("check ").expect("has a check");
            let text = format!("{checked}check {:016x}\n", check(checked));
            let parsed = DirectoryFormat::parse(text.as_bytes(), "fjall");
            assert!(matches!(parsed, Err(FormatRefused::Foreign(_))), "{parsed:?}");
        }
    }
}
