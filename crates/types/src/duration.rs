//! Durations as people write them: `1500ms`, `5s`, `1h30m`, or a bare number of milliseconds.

use std::fmt;

use crate::DelayMs;

/// Why a duration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// Not a number of milliseconds and not numbers with units.
    Malformed,
    /// Units repeat or do not go from the largest to the smallest.
    Order,
    /// More milliseconds than 64 bits hold.
    Overflow,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "is not a duration such as `1500ms`, `5s`, `15m`, `2h`, `7d`, `1h30m`",
            Self::Order => "has its units out of order or twice, the order is d, h, m, s, ms",
            Self::Overflow => "has more than 18446744073709551615 milliseconds",
        })
    }
}

impl std::error::Error for DurationError {}

/// Units, largest first, with their milliseconds. `ms` stands before `m` and `s` where prefixes
/// could be mistaken: a unit is what lies between two numbers, compared whole.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads a duration strictly: no signs, no fractions, no spaces.
///
/// A bare whole number is milliseconds. Otherwise one or more of number and unit (`d`, `h`, `m`,
/// `s`, `ms`), largest first, each at most once.
///
/// # Errors
/// When the text is none of these, or does not fit into 64 bits of milliseconds.
pub fn parse_duration(text: &str) -> Result<DelayMs, DurationError> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map(DelayMs::from_ms).map_err(|_| DurationError::Overflow);
    }
    let mut rest = text;
    let mut total: u64 = 0;
    let mut units_left = &UNITS[..];
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        if number.is_empty() || !UNITS.iter().any(|(name, _)| *name == unit) {
            return Err(DurationError::Malformed);
        }
        let place = units_left.iter().position(|(name, _)| *name == unit).ok_or(DurationError::Order)?;
        let factor = units_left.get(place).map_or(0, |(_, factor)| *factor);
        units_left = units_left.get(place + 1..).unwrap_or_default();
        let number: u64 = number.parse().map_err(|_| DurationError::Overflow)?;
        let span = number.checked_mul(factor).ok_or(DurationError::Overflow)?;
        total = total.checked_add(span).ok_or(DurationError::Overflow)?;
        rest = tail;
    }
    if text.is_empty() { Err(DurationError::Malformed) } else { Ok(DelayMs::from_ms(total)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<u64, DurationError>) {
        assert_eq!(parse_duration(text).map(DelayMs::ms), expected, "{text:?}");
    }

    #[test]
    fn durations_are_read_as_they_are_written() {
        check("1500ms", Ok(1500));
        check("5s", Ok(5000));
        check("15m", Ok(900_000));
        check("2h", Ok(7_200_000));
        check("7d", Ok(604_800_000));
        check("1h30m", Ok(5_400_000));
        check("1d2h3m4s5ms", Ok(93_784_005));
        check("0", Ok(0));
        check("250", Ok(250));
        check("18446744073709551615", Ok(u64::MAX));
    }

    #[test]
    fn what_is_not_a_duration_is_refused_by_name() {
        for text in ["", "s", "-5s", "+5s", "1.5s", "5 s", " 5s", "5x", "5sm", "s5", "٣s", "5S"] {
            check(text, Err(DurationError::Malformed));
        }
        for text in ["5s1h", "1h1h", "5ms3s"] {
            check(text, Err(DurationError::Order));
        }
        for text in ["18446744073709551616", "99999999999999999999d", "213503982335d"] {
            check(text, Err(DurationError::Overflow));
        }
    }
}
