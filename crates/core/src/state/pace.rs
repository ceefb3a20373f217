//! How fast a subscription is offered messages. In memory only: a shard that is opened again begins
//! anew.

use punctual_types::{DelayMs, Time};

/// What may go beyond an even pace, for clocks that are asked once a millisecond: a hundredth of a
/// second's messages.
const SLACK_US: u64 = 10_000;

/// So many messages in so long a time, evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Messages; at least 1.
    pub messages: u32,
    /// In this time.
    pub per: DelayMs,
}

impl Pace {
    fn interval_us(self) -> u64 {
        self.per.ms().saturating_mul(1000).div_ceil(u64::from(self.messages.max(1))).max(1)
    }
}

/// Where a subscription stands with its pace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// When the next message may go, in microseconds.
    next_us: u64,
}

impl Pacer {
    /// When the next may go, without making up for more than a little of what was not used.
    fn next(self, interval_us: u64, now_us: u64) -> u64 {
        let slack = SLACK_US / interval_us * interval_us;
        self.next_us.max(now_us.saturating_sub(slack))
    }

    /// How many may go now.
    pub(crate) fn allowed(self, pace: Pace, now: Time) -> u64 {
        let (interval, now_us) = (pace.interval_us(), now.unix_ms() * 1000);
        now_us.checked_sub(self.next(interval, now_us)).map_or(0, |since| since / interval + 1)
    }

    /// Notes that some went; answers when the next may, if that is not now.
    pub(crate) fn spent(&mut self, messages: u64, pace: Pace, now: Time) -> Option<Time> {
        let (interval, now_us) = (pace.interval_us(), now.unix_ms() * 1000);
        self.next_us = self.next(interval, now_us).saturating_add(interval.saturating_mul(messages));
        let resumes = Time::from_unix_ms(self.next_us.div_ceil(1000)).unwrap_or(Time::MAX);
        (self.next_us > now_us).then_some(resumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(ms: u64) -> Time {
        Time::from_unix_ms(1_000_000 + ms).expect("small")
    }

    /// Takes whatever may go at every millisecond; how many went in each second.
    fn seconds(pace: Pace, seconds: u64) -> Vec<u64> {
        let mut pacer = Pacer::default();
        let mut went = Vec::new();
        for second in 0..seconds {
            let mut count = 0;
            for ms in 0..1000 {
                let now = time(second * 1000 + ms);
                let allowed = pacer.allowed(pace, now);
                pacer.spent(allowed, pace, now);
                count += allowed;
            }
            went.push(count);
        }
        went
    }

    #[test]
    fn no_second_has_more_than_the_pace_and_a_hundredth() {
        let pace = |messages, ms| Pace { messages, per: DelayMs::from_ms(ms) };
        assert_eq!(seconds(pace(10, 1000), 4), [10, 10, 10, 10]);
        assert_eq!(seconds(pace(1, 3000), 6), [1, 0, 0, 1, 0, 0]);
        assert_eq!(seconds(pace(7, 1000), 3), [7, 7, 7]);
        assert_eq!(seconds(pace(1000, 1000), 3), [1010, 1000, 1000]);
        assert_eq!(seconds(pace(200_000, 1000), 3), [201_801, 200_000, 200_000]);
    }

    #[test]
    fn it_says_when_it_goes_on() {
        let pace = Pace { messages: 3, per: DelayMs::from_ms(1000) };
        let mut pacer = Pacer::default();
        assert_eq!((pacer.allowed(pace, time(0)), pacer.spent(0, pace, time(0))), (1, None));
        assert_eq!(pacer.spent(1, pace, time(0)), Some(time(334)));
        assert_eq!((pacer.allowed(pace, time(333)), pacer.allowed(pace, time(334))), (0, 1));
        assert_eq!(pacer.allowed(pace, time(60_000)), 1, "what was not used is not made up for");
    }
}
