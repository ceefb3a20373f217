//! What schedules promise, as times in and times out.

mod catching_up;
mod changes_of_the_clock;
mod times;

use punctual_broker_api::{
    DelayMs, Time,
    time_text::{format_time, parse_time},
};

use super::{CronTimes, Rhythm, Timing};

fn time(text: &str) -> Time {
    parse_time(text).unwrap_or_else(|what| panic!("{text} {what}"))
}

/// Without the fraction, where it is zero.
fn text(time: Time) -> String {
    format_time(time).replace(".000Z", "Z")
}

fn cron(pattern: &str, zone: &str) -> Timing {
    let times = CronTimes::parse(pattern, zone).unwrap_or_else(|fault| panic!("{pattern} in {zone} {fault}"));
    timing(Rhythm::Cron(Box::new(times)))
}

fn every(period: DelayMs, from: &str) -> Timing {
    timing(Rhythm::Every { period, from: time(from) })
}

fn timing(rhythm: Rhythm) -> Timing {
    Timing { rhythm, start: None, end: None, jitter: DelayMs::ZERO, seed: 0 }
}

/// The nominal times after one, as text.
fn after(timing: &Timing, after: &str, most: usize) -> Vec<String> {
    timing.times_after(time(after)).take(most).map(text).collect()
}
