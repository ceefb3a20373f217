//! When recurring schedules run. Pure: times go in and times come out; what is made of them is
//! `door/schedule`'s affair.

mod cron;
mod plan;
#[cfg(test)]
mod tests;
mod timing;
mod wall;

pub(crate) use cron::{CronFault, CronTimes};
pub(crate) use plan::{LOOKED_AWAY_MAX, Moment, Plan, Progress, Step};
pub(crate) use timing::{Rhythm, Timing, seed};
