//! Times as people write them: RFC 3339, or Unix milliseconds.

use jiff::{
    SignedDuration,
    civil::{DateTime, date},
    fmt::temporal::{Pieces, PiecesOffset},
};
use punctual_types::Time;

// Civil arithmetic and not `jiff::Timestamp`, which ends a day before the year 9999 does.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// RFC 3339 in UTC with milliseconds, such as `2026-11-30T12:00:00.000Z`.
#[must_use]
pub fn format_time(time: Time) -> String {
    let since_epoch = SignedDuration::from_millis(i64::try_from(time.unix_ms()).unwrap_or(i64::MAX));
    format!("{:.3}Z", EPOCH.saturating_add(since_epoch))
}

/// Reads RFC 3339 with any offset, or a whole number of Unix milliseconds. Fractions finer than a
/// millisecond are rounded up, so that nothing is delivered before the time that was asked for.
/// Times before 1970 are read as 1970: both have passed.
///
/// # Errors
/// A sentence on what is wrong with the text.
pub fn parse_time(text: &str) -> Result<Time, String> {
    let too_late = || "lies after the year 9999".to_owned();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().and_then(Time::from_unix_ms).ok_or_else(too_late);
    }
    let malformed = || "is neither RFC 3339, such as `2026-11-30T12:00:00Z`, nor Unix milliseconds".to_owned();
    let pieces = Pieces::parse(text).map_err(|_| malformed())?;
    let offset = match pieces.offset() {
        Some(PiecesOffset::Numeric(numeric)) => numeric.offset().seconds(),
        Some(_) => 0,
        None => return Err(malformed()),
    };
    let time = pieces.time().filter(|_| pieces.time_zone_annotation().is_none()).ok_or_else(malformed)?;
    let since_epoch = pieces.date().to_datetime(time).duration_since(EPOCH) - SignedDuration::from_secs(offset.into());
    let ns = since_epoch.as_nanos();
    if ns <= 0 {
        return Ok(Time::ZERO);
    }
    u64::try_from((ns + 999_999) / 1_000_000).ok().and_then(Time::from_unix_ms).ok_or_else(too_late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were_written() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2026-11-30T12:00:00.123Z", 1_796_040_000_123),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] {
            let time = parse_time(text).expect(text);
            assert_eq!(time.unix_ms(), ms);
            assert_eq!(format_time(time), text);
            assert_eq!(parse_time(&ms.to_string()), Ok(time));
        }
    }

    #[test]
    fn a_fraction_of_a_millisecond_is_rounded_up_and_never_early() {
        assert_eq!(parse_time("1970-01-01T00:00:00.0000001Z").map(Time::unix_ms), Ok(1));
        assert_eq!(parse_time("1969-07-20T20:17:00Z").map(Time::unix_ms), Ok(0));
        assert_eq!(parse_time("1970-01-01T02:00:00+01:00").map(Time::unix_ms), Ok(3_600_000));
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in ["", "tomorrow", "2026-11-30", "2026-13-01T00:00:00Z", "-5", "1.5", "253402300800000"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
