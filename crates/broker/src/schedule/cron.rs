//! When a cron expression in a time zone comes due, and what a change of the clock makes of it.
//!
//! The cron crate says which times on the wall an expression means; what they are in broker time is
//! decided here, by the rule that Vixie cron made usual. An expression with a `*` in its second,
//! minute or hour means "as time goes by": it goes on through a change of the clock, so a time that
//! the clock skips is no time and one that it shows twice is two. Any other means "at that time of
//! the day": one that the clock skips comes at the end of the gap, together with all others of it,
//! and one that it shows twice comes the first time.

use croner::{
    Cron,
    parser::{CronParser, Year},
};
use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};
use punctual_types::{Time, limits};

use super::wall::Wall;

/// An expression in its time zone.
#[derive(Clone, Debug)]
pub(crate) struct CronTimes {
    cron: Cron,
    zone: TimeZone,
    /// Whether it goes on through a change of the clock.
    by_elapsed_time: bool,
}

/// Why an expression or its time zone was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CronFault {
    #[error("is {0} bytes long, allowed are 1 to {max}", max = limits::SCHEDULE_CRON_BYTES_MAX)]
    Length(usize),
    #[error("has {0} fields, not five or six")]
    Fields(usize),
    #[error("cannot be read: {0}")]
    Pattern(String),
    #[error("names no day that ever comes")]
    Never,
    #[error("is not in the time zone database")]
    Zone,
}

impl CronTimes {
    /// Reads an expression of five fields (minute, hour, day of the month, month, day of the week)
    /// or six (with a second before them), in a zone of the IANA database.
    pub(crate) fn parse(pattern: &str, zone: &str) -> Result<Self, CronFault> {
        if !(1..=limits::SCHEDULE_CRON_BYTES_MAX).contains(&pattern.len()) {
            return Err(CronFault::Length(pattern.len()));
        }
        let fields: Vec<&str> = pattern.split_whitespace().collect();
        if !(5..=6).contains(&fields.len()) {
            return Err(CronFault::Fields(fields.len()));
        }
        let parser = CronParser::builder().year(Year::Disallowed).build();
        let cron = parser
            .parse(pattern)
            .map_err(|error| CronFault::Pattern(error.to_string().trim_end_matches('.').to_lowercase()))?;
        let zone = zone_of(zone).ok_or(CronFault::Zone)?;
        // All but the last three: day of the month, month, day of the week.
        let by_elapsed_time = fields.iter().rev().skip(3).any(|field| field.contains('*'));
        let times = Self { cron, zone, by_elapsed_time };
        times.next_after(Time::ZERO).map(|_| times).ok_or(CronFault::Never)
    }

    /// The first time after this one.
    pub(crate) fn next_after(&self, after: Time) -> Option<Time> {
        let after = Timestamp::from_millisecond(i64::try_from(after.unix_ms()).ok()?).ok()?;
        let found = if self.by_elapsed_time { self.by_elapsed_time(after) } else { self.by_the_wall(after) }?;
        u64::try_from(found.as_millisecond()).ok().and_then(Time::from_unix_ms)
    }

    /// Goes from one change of the clock to the next: in between, the wall and time move alike.
    fn by_elapsed_time(&self, after: Timestamp) -> Option<Timestamp> {
        let mut from = Timestamp::from_second(after.as_second() + 1).ok()?;
        loop {
            let offset = self.zone.to_offset(from);
            let wall = self.cron.find_next_occurrence(&Wall(offset.to_datetime(from)), true).ok()?;
            let found = offset.to_timestamp(wall.0).ok()?;
            match self.zone.following(from).next().map(|change| change.timestamp()) {
                Some(change) if found >= change => from = change,
                _ => return Some(found),
            }
        }
    }

    /// Goes along the wall, over the gaps and once through what is shown twice.
    fn by_the_wall(&self, after: Timestamp) -> Option<Timestamp> {
        let mut wall = Wall(self.zone.to_datetime(after));
        loop {
            wall = self.cron.find_next_occurrence(&wall, false).ok()?;
            let found = self.instant(wall.0)?;
            if found > after {
                return Some(found);
            }
        }
    }

    /// What a time on the wall is: the first of two, or the end of the gap that it is in.
    fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                offset.to_timestamp(wall).ok()
            }
            AmbiguousOffset::Gap { before, .. } => {
                // Had the clock not changed, it would be then: just after the change, or with it.
                let unchanged = before.to_timestamp(wall).ok()?;
                let later = Timestamp::from_second(unchanged.as_second() + 1).ok()?;
                self.zone.preceding(later).next().map(|change| change.timestamp())
            }
        }
    }
}

/// A zone of the database in the binary. The files of the machine have no say, so that a schedule
/// means the same wherever its data directory is taken.
fn zone_of(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok().filter(|zone| !zone.is_unknown())
}
