//! Settings as the core needs them. The catalog keeps them; a shard is told.

use std::sync::Arc;

use punctual_types::{DelayMs, Lane, Time, TopicNumber, limits};

use super::{BreakerRules, Pace};
use crate::{Filter, format::MessageRecord};

use super::TopicPlace;

/// When a message is to be due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Due {
    /// At once.
    #[default]
    Now,
    /// So long after it is accepted.
    After(DelayMs),
    /// At that time, or at once if it has passed.
    At(Time),
}

/// What to do when a scheduled message has the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnKeyConflict {
    /// Refuse the new one.
    #[default]
    Reject,
    /// The new one takes its place.
    Replace,
    /// It stays.
    Keep,
}

/// What becomes of a message that expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExpiry {
    /// It is dropped, and counted.
    #[default]
    Drop,
    /// It goes to the dead letters of every subscription that was not done with it, and is counted.
    DeadLetter,
}

/// A topic's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRules {
    /// Its name, for dead letters.
    pub name: Arc<str>,
    /// How long a dedup id is remembered.
    pub dedup_window: DelayMs,
    /// Whether a message must be durable before it is offered.
    pub offers_wait_for_sync: bool,
    /// For how long after its due time a message is kept at most.
    pub retention: Option<DelayMs>,
    /// For how long after its due time a message is kept that everybody is done with.
    pub keep_acked: DelayMs,
    /// What becomes of a message that expires.
    pub on_expiry: OnExpiry,
    /// Where prepared messages are asked after: the partition of the same number of this topic.
    pub in_doubt: Option<TopicNumber>,
}

impl TopicRules {
    /// For how long the floor is held back; never past the retention.
    pub(crate) fn keeping(&self) -> Option<DelayMs> {
        let keeping = self.retention.map_or(self.keep_acked, |retention| self.keep_acked.min(retention));
        (keeping > DelayMs::ZERO).then_some(keeping)
    }
}

impl Default for TopicRules {
    /// The rules of a topic without a name and with every setting at its default.
    fn default() -> Self {
        Self {
            name: Arc::from(""),
            dedup_window: limits::DEDUP_WINDOW_DEFAULT,
            offers_wait_for_sync: true,
            retention: None,
            keep_acked: DelayMs::ZERO,
            on_expiry: OnExpiry::Drop,
            in_doubt: None,
        }
    }
}

/// How failures are tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// Deliveries in all.
    pub max_attempts: u32,
    /// The delay after the first failure.
    pub initial: DelayMs,
    /// What each further failure multiplies it by.
    pub multiplier: f64,
    /// The longest delay.
    pub max: DelayMs,
    /// The random share of it, 0 to 1.
    pub jitter: f64,
}

impl Retry {
    /// The delay after the given failed attempt: `min(max, initial × multiplier^(attempt−1))`,
    /// made longer or shorter by up to the jitter, as `random` says. The jitter may go beyond `max`
    /// by its share: cut off there, half of the longest delays would end in the same instant.
    #[must_use]
    pub fn delay(&self, attempt: u32, random: u64) -> DelayMs {
        let exponent = f64::from(attempt.saturating_sub(1));
        let grown = self.initial.ms() as f64 * self.multiplier.powf(exponent);
        let base = grown.min(self.max.ms() as f64);
        // The upper 53 bits are what a double holds exactly: a share from -1 up to 1.
        let share = (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        // A float that is not finite or too large becomes the nearest number there is, by `as`.
        DelayMs::from_ms((base * (1.0 + self.jitter * share)).max(0.0).round() as u64)
    }
}

/// How a subscription reads; never changed once it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubscriptionKind {
    /// Messages are leased and settled one by one.
    #[default]
    Shared,
    /// Messages are read by offset, and an offset is committed.
    Stream,
}

/// A subscription's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionRules {
    /// How it reads.
    pub kind: SubscriptionKind,
    /// Its name, for dead letters.
    pub name: Arc<str>,
    /// The lease of a delivery.
    pub lease: DelayMs,
    /// How failures are tried again.
    pub retry: Retry,
    /// Where dead letters go.
    pub dead_letters: TopicPlace,
    /// Deliveries of this partition with consumers at once.
    pub max_in_flight: u32,
    /// Whether nothing is offered.
    pub paused: bool,
    /// Which messages it wants to see; all when `None`.
    pub filter: Option<Arc<Filter>>,
    /// Whether messages of an ordering key go one at a time and in order.
    pub ordered: bool,
    /// When to stop offering because deliveries fail.
    pub breaker: Option<BreakerRules>,
    /// How fast to offer at most.
    pub pace: Option<Pace>,
}

impl SubscriptionRules {
    /// Whether a message is to be seen. What is tried again was wanted when it was read first.
    pub(crate) fn wants(&self, lane: Lane, record: &MessageRecord) -> bool {
        let filter = self.filter.as_ref().filter(|_| matches!(lane, Lane::Priority(_)));
        filter.is_none_or(|filter| filter.matches(record.tag.as_deref(), &record.headers))
    }
}

impl Default for SubscriptionRules {
    /// Rules of a subscription that was loaded and not yet configured: it offers nothing.
    fn default() -> Self {
        Self {
            kind: SubscriptionKind::Shared,
            name: Arc::from(""),
            lease: limits::LEASE_DEFAULT,
            retry: Retry {
                max_attempts: limits::ATTEMPTS_DEFAULT,
                initial: DelayMs::from_secs(1),
                multiplier: 2.0,
                max: DelayMs::from_secs(300),
                jitter: 0.0,
            },
            dead_letters: TopicPlace::of(TopicNumber(0), 1),
            max_in_flight: 0,
            paused: true,
            filter: None,
            ordered: false,
            breaker: None,
            pace: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(jitter: f64) -> Retry {
        Retry {
            max_attempts: 16,
            initial: DelayMs::from_ms(1000),
            multiplier: 2.0,
            max: DelayMs::from_ms(300_000),
            jitter,
        }
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let delays: Vec<_> = (1..=11).map(|attempt| retry(0.0).delay(attempt, 7).ms()).collect();
        assert_eq!(delays, [1000, 2000, 4000, 8000, 16000, 32000, 64000, 128_000, 256_000, 300_000, 300_000]);
        assert_eq!(retry(0.0).delay(u32::MAX, 7).ms(), 300_000);
    }

    #[test]
    fn jitter_moves_a_delay_by_its_share_and_no_further() {
        assert_eq!(retry(0.1).delay(1, 0).ms(), 900);
        assert_eq!(retry(0.1).delay(1, u64::MAX).ms(), 1100);
        assert_eq!(retry(0.1).delay(1, 1 << 63).ms(), 1000);
        assert_eq!(retry(1.0).delay(1, 0).ms(), 0);
        assert_eq!(retry(0.1).delay(1000, u64::MAX).ms(), 330_000, "beyond the longest by its share, no further");
        assert_eq!(retry(0.1).delay(1000, 0).ms(), 270_000);
    }
}
