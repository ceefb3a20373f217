//! Points in time and spans of it, in whole milliseconds.

use std::fmt;

/// A point in broker time: milliseconds since the Unix epoch.
///
/// Range: 0 to [`Time::MAX`], the last millisecond of the year 9999, so that every time has an
/// RFC 3339 form and fits into 48 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// A time from Unix milliseconds; `None` past the year 9999.
    #[must_use]
    pub const fn from_unix_ms(ms: u64) -> Option<Self> {
        if ms <= Self::MAX.0 { Some(Self(ms)) } else { None }
    }

    /// Unix milliseconds.
    #[must_use]
    pub const fn unix_ms(self) -> u64 {
        self.0
    }

    /// This time plus a delay; `None` when that lies past the year 9999. Never clamps.
    #[must_use]
    pub const fn checked_add(self, delay: DelayMs) -> Option<Self> {
        match self.0.checked_add(delay.0) {
            Some(ms) => Self::from_unix_ms(ms),
            None => None,
        }
    }

    /// This time plus a delay, at most [`Time::MAX`]. For deadlines of our own (leases, windows),
    /// never for a due time, which must be exact or refused.
    #[must_use]
    pub const fn saturating_add(self, delay: DelayMs) -> Self {
        match self.checked_add(delay) {
            Some(time) => time,
            None => Self::MAX,
        }
    }

    /// How long this time is after `earlier`; zero when it is not.
    #[must_use]
    pub const fn since(self, earlier: Self) -> DelayMs {
        DelayMs(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A span of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DelayMs(u64);

impl DelayMs {
    /// No delay.
    pub const ZERO: Self = Self(0);

    /// A span of so many milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// A span of so many seconds (at most `u64::MAX / 1000`; more saturates, for constants only).
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Milliseconds.
    #[must_use]
    pub const fn ms(self) -> u64 {
        self.0
    }
}

impl fmt::Display for DelayMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// One reading of the broker's clock, handed to every command.
///
/// The instant lies between two whole milliseconds. Whether something is due is asked of the lower
/// one and a delay is counted from the upper one, so that neither rounding can make a delivery
/// early: a message published at 1000.9 ms with a delay of 5 s is due at 6001 ms, not at 6000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The last whole millisecond that has passed.
    pub floor: Time,
    /// The first whole millisecond that has not passed before this instant: `floor` or one more.
    pub ceil: Time,
}

impl Now {
    /// A reading that falls exactly on a millisecond, as of a manual clock.
    #[must_use]
    pub const fn exactly(time: Time) -> Self {
        Self { floor: time, ceil: time }
    }

    /// The later of this reading and a time that has been reached already.
    #[must_use]
    pub fn not_before(self, reached: Time) -> Self {
        Self { floor: self.floor.max(reached), ceil: self.ceil.max(reached) }
    }
}
