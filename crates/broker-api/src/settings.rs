//! Settings of namespaces, topics and subscriptions, and changes to them.
//!
//! A change holds a [`Patch`] per field: what is left out keeps its value, `null` goes back to the
//! default. What the settings mean is told on their fields, with ranges and defaults.

use std::fmt;

use punctual_types::{DelayMs, Time};

use crate::time_text::format_time;

/// A change of one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Keep the value, or the default of a new object.
    #[default]
    Keep,
    /// Go back to the default.
    Reset,
    /// Take this value.
    Set(T),
}

impl<T> Patch<T> {
    /// The value after the change, of a setting that may be absent and is so by default.
    pub fn apply_optional(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Keep => current,
            Self::Reset => None,
            Self::Set(value) => Some(value),
        }
    }

    /// The value after the change.
    pub fn apply(self, current: T, default: T) -> T {
        match self {
            Self::Keep => current,
            Self::Reset => default,
            Self::Set(value) => value,
        }
    }
}

/// When replies of a topic leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After fsync: survives power loss.
    #[default]
    Sync,
    /// When the operating system has it; synced within 100 ms: survives the death of the process.
    Async,
    /// At once; written behind.
    Memory,
}

impl Durability {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Memory => "memory",
        }
    }
}

/// What becomes of a message that expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExpiry {
    /// It is dropped and counted.
    #[default]
    Drop,
    /// It goes to the dead letters.
    DeadLetter,
}

impl OnExpiry {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::DeadLetter => "dead_letter",
        }
    }
}

/// Where a new subscription begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the oldest message that is still there.
    #[default]
    Earliest,
    /// With what comes due from now on.
    Latest,
    /// With the first message due at or after this time.
    Time(Time),
}

/// As every door writes it: a word, or RFC 3339.
impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earliest => f.write_str("earliest"),
            Self::Latest => f.write_str("latest"),
            Self::Time(time) => f.write_str(&format_time(*time)),
        }
    }
}

/// A subscription begins where a seek would take it.
impl From<SeekTo> for Start {
    fn from(to: SeekTo) -> Self {
        match to {
            SeekTo::Earliest => Self::Earliest,
            SeekTo::Latest => Self::Latest,
            SeekTo::Time(time) => Self::Time(time),
        }
    }
}

/// Where a subscription is moved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// To the oldest message that is still there.
    Earliest,
    /// Past everything that has come due.
    Latest,
    /// To the first message due at or after this time.
    Time(Time),
}

/// How failed deliveries are tried again: after `min(max, initial × multiplier^(attempt−1))`,
/// shortened or lengthened at random by up to `jitter` of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Deliveries in all before the message is dead-lettered: 1 to 1000; 16 by default.
    pub max_attempts: u32,
    /// The delay after the first failure; 1 s by default.
    pub initial: DelayMs,
    /// What each further failure multiplies the delay by: 1 to 1000; 2 by default.
    pub multiplier: f64,
    /// The longest delay; 5 min by default.
    pub max: DelayMs,
    /// The random share: 0 to 1; 0.1 by default.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: punctual_types::limits::ATTEMPTS_DEFAULT,
            initial: DelayMs::from_secs(1),
            multiplier: 2.0,
            max: DelayMs::from_secs(300),
            jitter: 0.1,
        }
    }
}

/// A change of a retry policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryPatch {
    /// See [`RetryPolicy::max_attempts`].
    pub max_attempts: Patch<u32>,
    /// See [`RetryPolicy::initial`].
    pub initial: Patch<DelayMs>,
    /// See [`RetryPolicy::multiplier`].
    pub multiplier: Patch<f64>,
    /// See [`RetryPolicy::max`].
    pub max: Patch<DelayMs>,
    /// See [`RetryPolicy::jitter`].
    pub jitter: Patch<f64>,
}

/// When a subscription stops being offered messages because its consumers fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// So many nacks, expired leases and lost connections …
    pub failures: u32,
    /// … within so long stop the offers …
    pub window: DelayMs,
    /// … for so long. Then one message is offered: acked, the offers go on; failed, they stop for
    /// as long again.
    pub pause: DelayMs,
}

/// Limits of a namespace; `None` for no limit but the broker's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamespaceLimits {
    /// Scheduled messages.
    pub max_scheduled: Option<u64>,
    /// Messages past the line and not settled.
    pub max_ready: Option<u64>,
    /// Bytes of both.
    pub max_bytes: Option<u64>,
    /// Messages accepted a second.
    pub publish_per_second: Option<u64>,
}

/// Settings of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceSettings {
    /// The longest delay; `None` for none but the end of the year 9999.
    pub max_delay: Option<DelayMs>,
    /// The table of delay levels, the first is level 1; up to 64. RocketMQ's eighteen by default.
    pub delay_levels: Vec<DelayMs>,
    /// Whether publishing and receiving make topics and subscriptions; true by default.
    pub auto_create: bool,
    /// Its limits.
    pub limits: NamespaceLimits,
}

impl Default for NamespaceSettings {
    fn default() -> Self {
        // 1s 5s 10s 30s, 1m to 10m, 20m 30m 1h 2h: the table RocketMQ users have in their code.
        let seconds = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200];
        Self {
            max_delay: None,
            delay_levels: seconds.into_iter().map(DelayMs::from_secs).collect(),
            auto_create: true,
            limits: NamespaceLimits::default(),
        }
    }
}

/// A change of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespacePatch {
    /// See [`NamespaceSettings::max_delay`].
    pub max_delay: Patch<DelayMs>,
    /// See [`NamespaceSettings::delay_levels`].
    pub delay_levels: Patch<Vec<DelayMs>>,
    /// See [`NamespaceSettings::auto_create`].
    pub auto_create: Patch<bool>,
    /// See [`NamespaceSettings::limits`]; a set replaces all four.
    pub limits: Patch<NamespaceLimits>,
}

/// Settings of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicSettings {
    /// Partitions: 1 to 1024, fixed when the topic is made; 1 by default.
    pub partitions: u16,
    /// Priorities: 1 to 256; 1 by default.
    pub priorities: u16,
    /// When replies leave.
    pub durability: Durability,
    /// How long a message is kept after its due time; `None`: until every subscription settled it.
    pub retention: Option<DelayMs>,
    /// How long a settled message is kept for readers of the log; 0 by default.
    pub keep_acked: DelayMs,
    /// What becomes of what expires.
    pub on_expiry: OnExpiry,
    /// How long a dedup id is remembered; 10 min by default.
    pub dedup_window: DelayMs,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            partitions: 1,
            priorities: 1,
            durability: Durability::default(),
            retention: None,
            keep_acked: DelayMs::ZERO,
            on_expiry: OnExpiry::default(),
            dedup_window: punctual_types::limits::DEDUP_WINDOW_DEFAULT,
        }
    }
}

/// A change of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicPatch {
    /// See [`TopicSettings::partitions`].
    pub partitions: Patch<u16>,
    /// See [`TopicSettings::priorities`].
    pub priorities: Patch<u16>,
    /// See [`TopicSettings::durability`].
    pub durability: Patch<Durability>,
    /// See [`TopicSettings::retention`].
    pub retention: Patch<DelayMs>,
    /// See [`TopicSettings::keep_acked`].
    pub keep_acked: Patch<DelayMs>,
    /// See [`TopicSettings::on_expiry`].
    pub on_expiry: Patch<OnExpiry>,
    /// See [`TopicSettings::dedup_window`].
    pub dedup_window: Patch<DelayMs>,
}

/// Settings of a subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionSettings {
    /// Where it began.
    pub start: Start,
    /// How long a delivery may stay unacknowledged: 1 s to 12 h; 30 s by default.
    pub lease: DelayMs,
    /// How failures are tried again.
    pub retry: RetryPolicy,
    /// Where dead letters go; `None` for `{topic}.{subscription}.dead`.
    pub dead_letter_topic: Option<String>,
    /// At most so many messages with consumers at once; 100,000 by default, which is the most.
    pub max_in_flight: u32,
    /// Whether messages of an ordering key are delivered one at a time and in order.
    pub ordered: bool,
    /// Which messages it wants: by tags (`a || b`, `*`) or headers (`header.x = 'y'`, joined by
    /// `AND` and `OR`); `None` for all. What it does not want counts as acked.
    pub filter: Option<String>,
    /// At most so many deliveries a second, 1 to 1,000,000; `None` for no bound.
    pub max_rate: Option<u32>,
    /// When offers stop because consumers fail; `None` for never.
    pub breaker: Option<Breaker>,
}

impl Default for SubscriptionSettings {
    fn default() -> Self {
        Self {
            start: Start::default(),
            lease: punctual_types::limits::LEASE_DEFAULT,
            retry: RetryPolicy::default(),
            dead_letter_topic: None,
            max_in_flight: punctual_types::limits::IN_FLIGHT_MAX,
            ordered: false,
            filter: None,
            max_rate: None,
            breaker: None,
        }
    }
}

/// A change of a subscription.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubscriptionPatch {
    /// See [`SubscriptionSettings::start`]; only when the subscription is made.
    pub start: Patch<Start>,
    /// See [`SubscriptionSettings::lease`].
    pub lease: Patch<DelayMs>,
    /// See [`SubscriptionSettings::retry`].
    pub retry: Patch<RetryPatch>,
    /// See [`SubscriptionSettings::dead_letter_topic`].
    pub dead_letter_topic: Patch<String>,
    /// See [`SubscriptionSettings::max_in_flight`].
    pub max_in_flight: Patch<u32>,
    /// See [`SubscriptionSettings::ordered`].
    pub ordered: Patch<bool>,
    /// See [`SubscriptionSettings::filter`].
    pub filter: Patch<String>,
    /// See [`SubscriptionSettings::max_rate`].
    pub max_rate: Patch<u32>,
    /// See [`SubscriptionSettings::breaker`]; a set replaces all three.
    pub breaker: Patch<Breaker>,
}
