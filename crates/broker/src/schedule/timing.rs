//! When a schedule runs: its nominal times, and how far its jitter moves each.

use punctual_types::{DelayMs, Time};

use super::cron::CronTimes;

/// What the nominal times follow.
#[derive(Clone, Debug)]
pub(crate) enum Rhythm {
    /// An expression.
    Cron(Box<CronTimes>),
    /// A whole number of periods after a time, that time included.
    Every { period: DelayMs, from: Time },
    /// Nothing: what it followed cannot be read any more.
    Never,
}

/// When a schedule runs. Pure: the same times whoever asks, whenever, and after any restart.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) rhythm: Rhythm,
    /// No nominal time lies before it.
    pub(crate) start: Option<Time>,
    /// Nominal times lie before it.
    pub(crate) end: Option<Time>,
    /// How much later than its nominal time a run may be due.
    pub(crate) jitter: DelayMs,
    /// What tells one schedule's jitter from another's.
    pub(crate) seed: u64,
}

fn before(time: Time) -> Time {
    Time::from_unix_ms(time.unix_ms().saturating_sub(1)).unwrap_or(Time::ZERO)
}

impl Timing {
    /// The first nominal time after this one.
    pub(crate) fn next_after(&self, after: Time) -> Option<Time> {
        let after = self.start.map_or(after, |start| after.max(before(start)));
        let next = match &self.rhythm {
            Rhythm::Cron(cron) => cron.next_after(after),
            Rhythm::Never => None,
            Rhythm::Every { from, .. } if after < *from => Some(*from),
            Rhythm::Every { period, from } => {
                let periods = after.since(*from).ms() / period.ms() + 1;
                periods.checked_mul(period.ms()).and_then(|ms| from.checked_add(DelayMs::from_ms(ms)))
            }
        };
        next.filter(|next| self.end.is_none_or(|end| *next < end))
    }

    /// The last nominal time after `after` and not after `until`.
    pub(crate) fn last_between(&self, after: Time, until: Time) -> Option<Time> {
        let within = |after: Time| self.next_after(after).filter(|next| *next <= until);
        let mut found = within(after)?;
        // There is none after `none_after`, and `found` is one: halve what lies between.
        let mut none_after = until;
        while let Some(next) = within(found) {
            let middle = Time::from_unix_ms(next.unix_ms().midpoint(none_after.unix_ms())).unwrap_or(next);
            match within(middle) {
                Some(later) => found = later,
                None => (found, none_after) = (next, middle),
            }
        }
        Some(found)
    }

    /// The last nominal times after `after` and not after `until`, in order, at most so many.
    pub(crate) fn latest_between(&self, after: Time, until: Time, most: usize) -> Vec<Time> {
        let all = self.times_after(after).take_while(|time| *time <= until);
        let first: Vec<Time> = all.take(most + 1).collect();
        if first.len() <= most {
            return first;
        }
        let mut latest = Vec::with_capacity(most);
        let mut until = until;
        // How far back the one before is looked for first: as far as the last step went.
        let mut reach = DelayMs::from_secs(1);
        while latest.len() < most {
            let from = Time::from_unix_ms(until.unix_ms().saturating_sub(reach.ms())).unwrap_or(after).max(after);
            match self.last_between(from, until) {
                Some(time) => {
                    reach = until.since(time).max(DelayMs::from_ms(1));
                    latest.push(time);
                    until = before(time);
                }
                None if from == after => break,
                None => reach = DelayMs::from_ms(reach.ms().saturating_mul(2)),
            }
        }
        latest.reverse();
        latest
    }

    /// Nominal times after this one, in order.
    pub(crate) fn times_after(&self, after: Time) -> impl Iterator<Item = Time> + '_ {
        std::iter::successors(self.next_after(after), |time| self.next_after(*time))
    }

    /// When the run of a nominal time is due: not before it, and before the next one.
    pub(crate) fn due(&self, nominal: Time) -> Time {
        if self.jitter == DelayMs::ZERO {
            return nominal;
        }
        let room = self.next_after(nominal).map_or(self.jitter.ms(), |next| next.since(nominal).ms() - 1);
        let bound = self.jitter.ms().min(room);
        let share = mix(self.seed ^ nominal.unix_ms());
        // The upper half of a product spreads the whole range evenly over 0 to `bound`.
        let late = (u128::from(share) * (u128::from(bound) + 1)) >> 64;
        nominal.saturating_add(DelayMs::from_ms(u64::try_from(late).unwrap_or(bound)))
    }
}

/// What tells the jitter of a schedule of that name from that of others: 64-bit FNV-1a of the names.
pub(crate) fn seed(namespace: &str, schedule: &str) -> u64 {
    let bytes = namespace.bytes().chain([0]).chain(schedule.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Spreads the bits of a number over all of it (the last steps of SplitMix64).
fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
