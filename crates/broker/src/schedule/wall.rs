//! Times on a clock on the wall, as the cron crate wants to see them: without a time zone.

use std::cmp::Ordering;

use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday, errors::CronError};
use jiff::{SignedDuration, civil::DateTime};

/// What a clock on some wall shows. The cron crate searches among these alone; which instants they
/// are, and what a change of the clock makes of them, is decided in `cron`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wall(pub(super) DateTime);

impl CronDateTime for Wall {
    fn to_civil(&self) -> CivilDateTime {
        // Neither month, day, hour, minute nor second is ever negative.
        let part = |part: i8| part.unsigned_abs().into();
        let date = CivilDate::from_parts_unchecked(self.0.year().into(), part(self.0.month()), part(self.0.day()));
        let time = CivilTime::from_parts_unchecked(part(self.0.hour()), part(self.0.minute()), part(self.0.second()));
        CivilDateTime::new(date, time)
    }

    fn civil_weekday(&self) -> Weekday {
        Weekday::from_days_from_sunday(self.0.weekday().to_sunday_zero_offset().unsigned_abs().into())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let part = |part: u32| i8::try_from(part).map_err(|_| CronError::InvalidTime);
        let year = i16::try_from(civil.year()).map_err(|_| CronError::InvalidDate)?;
        let (month, day) = (part(civil.month())?, part(civil.day())?);
        let (hour, minute, second) = (part(civil.hour())?, part(civil.minute())?, part(civil.second())?);
        let time = DateTime::new(year, month, day, hour, minute, second, 0).map_err(|_| CronError::InvalidDate)?;
        Ok(Resolution::Single(Self(time)))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(SignedDuration::from_secs(seconds)).ok().map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
}
