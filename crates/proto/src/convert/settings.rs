//! Changes of settings: what is present is set, what is named in `reset` goes back to its default,
//! everything else is kept.

use punctual_broker_api::{
    Breaker, Code, DelayMs, Durability, Error, NamespaceLimits, NamespacePatch, OnExpiry, Patch, RetryPatch, Start,
    SubscriptionPatch, TopicPatch,
};

use super::{delay_from, delay_into, echo, exclusive, invalid_field, time_from, time_into};
use crate::v1;

/// The names that a change resets, while they are being found again among the settings' fields.
pub(super) struct Resets(Vec<String>);

impl Resets {
    /// The names may end in the unit that their field ends in.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self(names.into_iter().map(|name| name.strip_suffix("_ms").map(str::to_owned).unwrap_or(name)).collect())
    }

    fn take(&mut self, field: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|name| name != field);
        self.0.len() < before
    }

    /// The change of a field: its value, or its name among the resets.
    pub(super) fn patch<T>(&mut self, field: &str, value: Option<T>) -> Result<Patch<T>, Error> {
        match (self.take(field), value) {
            (true, Some(_)) => Err(exclusive(field, "a field is either set or reset, not both")),
            (true, None) => Ok(Patch::Reset),
            (false, Some(value)) => Ok(Patch::Set(value)),
            (false, None) => Ok(Patch::Keep),
        }
    }

    pub(super) fn duration(&mut self, field: &str, ms: Option<i64>) -> Result<Patch<DelayMs>, Error> {
        let value = ms.map(|ms| delay_from(field, ms)).transpose()?;
        self.patch(field, value)
    }

    /// Whether every name was one of a field.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some(name) => Err(Error::new(Code::UnknownField, format!("cannot reset `{}`: no such field", echo(&name)))
                .with_field("reset")),
        }
    }
}

/// The other way: what a patch sets, and the names of what it resets.
#[derive(Default)]
pub(super) struct Written(Vec<String>);

impl Written {
    pub(super) fn set<T>(&mut self, field: &str, patch: Patch<T>) -> Option<T> {
        match patch {
            Patch::Keep => None,
            Patch::Set(value) => Some(value),
            Patch::Reset => {
                self.0.push(field.to_owned());
                None
            }
        }
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.0
    }
}

/// A change of a namespace.
///
/// # Errors
/// `exclusive_fields`, `unknown_field`, `invalid_duration`.
pub fn namespace_patch_from(
    settings: Option<v1::NamespaceSettings>,
    reset: Vec<String>,
) -> Result<NamespacePatch, Error> {
    let settings = settings.unwrap_or_default();
    let mut resets = Resets::new(reset);
    let levels = |levels: v1::DelayLevels| {
        levels.delays_ms.into_iter().map(|ms| delay_from("delay_levels", ms)).collect::<Result<Vec<_>, _>>()
    };
    let patch = NamespacePatch {
        max_delay: resets.duration("max_delay", settings.max_delay_ms)?,
        delay_levels: resets.patch("delay_levels", settings.delay_levels.map(levels).transpose()?)?,
        auto_create: resets.patch("auto_create", settings.auto_create)?,
        limits: resets.patch("limits", settings.limits.map(|limits| limits_from(&limits)))?,
    };
    resets.finish()?;
    Ok(patch)
}

/// A change of a namespace for the wire.
#[must_use]
pub fn namespace_patch_into(patch: NamespacePatch) -> (v1::NamespaceSettings, Vec<String>) {
    let mut written = Written::default();
    let settings = v1::NamespaceSettings {
        max_delay_ms: written.set("max_delay_ms", patch.max_delay).map(delay_into),
        delay_levels: written.set("delay_levels", patch.delay_levels).map(|levels| levels_into(&levels)),
        auto_create: written.set("auto_create", patch.auto_create),
        limits: written.set("limits", patch.limits).map(limits_into),
    };
    (settings, written.0)
}

pub(super) fn levels_into(levels: &[DelayMs]) -> v1::DelayLevels {
    v1::DelayLevels { delays_ms: levels.iter().copied().map(delay_into).collect() }
}

pub(super) fn limits_from(limits: &v1::NamespaceLimits) -> NamespaceLimits {
    NamespaceLimits {
        max_scheduled: limits.max_scheduled,
        max_ready: limits.max_ready,
        max_bytes: limits.max_bytes,
        publish_per_second: limits.publish_per_second,
    }
}

pub(super) fn limits_into(limits: NamespaceLimits) -> v1::NamespaceLimits {
    v1::NamespaceLimits {
        max_scheduled: limits.max_scheduled,
        max_ready: limits.max_ready,
        max_bytes: limits.max_bytes,
        publish_per_second: limits.publish_per_second,
    }
}

fn narrow(field: &str, value: Option<u32>) -> Result<Option<u16>, Error> {
    let narrow = |value| u16::try_from(value).map_err(|_| invalid_field(field, format!("cannot use {value} {field}")));
    value.map(narrow).transpose()
}

pub(super) fn durability_from(value: i32) -> Result<Durability, Error> {
    match v1::Durability::try_from(value) {
        Ok(v1::Durability::Sync) => Ok(Durability::Sync),
        Ok(v1::Durability::Async) => Ok(Durability::Async),
        Ok(v1::Durability::Memory) => Ok(Durability::Memory),
        Ok(v1::Durability::Unspecified) | Err(_) => {
            Err(invalid_field("durability", format!("cannot use {value} as durability")))
        }
    }
}

pub(super) fn durability_into(value: Durability) -> i32 {
    let wire = match value {
        Durability::Sync => v1::Durability::Sync,
        Durability::Async => v1::Durability::Async,
        Durability::Memory => v1::Durability::Memory,
    };
    wire.into()
}

pub(super) fn on_expiry_from(value: i32) -> Result<OnExpiry, Error> {
    match v1::OnExpiry::try_from(value) {
        Ok(v1::OnExpiry::Drop) => Ok(OnExpiry::Drop),
        Ok(v1::OnExpiry::DeadLetter) => Ok(OnExpiry::DeadLetter),
        Ok(v1::OnExpiry::Unspecified) | Err(_) => {
            Err(invalid_field("on_expiry", format!("cannot use {value} as on_expiry")))
        }
    }
}

pub(super) fn on_expiry_into(value: OnExpiry) -> i32 {
    let wire = match value {
        OnExpiry::Drop => v1::OnExpiry::Drop,
        OnExpiry::DeadLetter => v1::OnExpiry::DeadLetter,
    };
    wire.into()
}

/// Where a subscription begins: a word or a time; `None` when neither is there.
pub(super) fn start_from(word: Option<i32>, unix_ms: Option<i64>) -> Result<Option<Start>, Error> {
    let value = match (word, unix_ms) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(exclusive("start", "a subscription starts at a word or a time, not at both")),
        (None, Some(time)) => return Ok(Some(Start::Time(time_from("start", time)?))),
        (Some(value), None) => value,
    };
    match v1::Start::try_from(value) {
        Ok(v1::Start::Earliest) => Ok(Some(Start::Earliest)),
        Ok(v1::Start::Latest) => Ok(Some(Start::Latest)),
        Ok(v1::Start::Unspecified) | Err(_) => Err(invalid_field("start", format!("cannot use {value} as start"))),
    }
}

/// Where a subscription begins, for the wire: a word, or a time.
pub(super) fn start_into(value: Start) -> (Option<i32>, Option<i64>) {
    match value {
        Start::Earliest => (Some(v1::Start::Earliest.into()), None),
        Start::Latest => (Some(v1::Start::Latest.into()), None),
        Start::Time(time) => (None, Some(time_into(time))),
    }
}

pub(super) fn breaker_from(breaker: v1::Breaker) -> Result<Breaker, Error> {
    Ok(Breaker {
        failures: breaker.failures,
        window: delay_from("breaker.window", breaker.window_ms)?,
        pause: delay_from("breaker.pause", breaker.pause_ms)?,
    })
}

pub(super) fn breaker_into(breaker: Breaker) -> v1::Breaker {
    v1::Breaker {
        failures: breaker.failures,
        window_ms: delay_into(breaker.window),
        pause_ms: delay_into(breaker.pause),
    }
}

/// A change of a topic.
///
/// # Errors
/// `exclusive_fields`, `unknown_field`, `invalid_duration`, `invalid_field`.
pub fn topic_patch_from(settings: Option<v1::TopicSettings>, reset: Vec<String>) -> Result<TopicPatch, Error> {
    let settings = settings.unwrap_or_default();
    let mut resets = Resets::new(reset);
    let patch = TopicPatch {
        partitions: resets.patch("partitions", narrow("partitions", settings.partitions)?)?,
        priorities: resets.patch("priorities", narrow("priorities", settings.priorities)?)?,
        durability: resets.patch("durability", settings.durability.map(durability_from).transpose()?)?,
        retention: resets.duration("retention", settings.retention_ms)?,
        keep_acked: resets.duration("keep_acked", settings.keep_acked_ms)?,
        on_expiry: resets.patch("on_expiry", settings.on_expiry.map(on_expiry_from).transpose()?)?,
        dedup_window: resets.duration("dedup_window", settings.dedup_window_ms)?,
    };
    resets.finish()?;
    Ok(patch)
}

/// A change of a topic for the wire.
#[must_use]
pub fn topic_patch_into(patch: TopicPatch) -> (v1::TopicSettings, Vec<String>) {
    let mut written = Written::default();
    let settings = v1::TopicSettings {
        partitions: written.set("partitions", patch.partitions).map(u32::from),
        priorities: written.set("priorities", patch.priorities).map(u32::from),
        durability: written.set("durability", patch.durability).map(durability_into),
        retention_ms: written.set("retention_ms", patch.retention).map(delay_into),
        keep_acked_ms: written.set("keep_acked_ms", patch.keep_acked).map(delay_into),
        on_expiry: written.set("on_expiry", patch.on_expiry).map(on_expiry_into),
        dedup_window_ms: written.set("dedup_window_ms", patch.dedup_window).map(delay_into),
    };
    (settings, written.0)
}

/// A change of a subscription.
///
/// # Errors
/// `exclusive_fields`, `unknown_field`, `invalid_duration`, `invalid_time`, `invalid_field`.
pub fn subscription_patch_from(
    settings: Option<v1::SubscriptionSettings>,
    reset: Vec<String>,
) -> Result<SubscriptionPatch, Error> {
    let settings = settings.unwrap_or_default();
    let mut resets = Resets::new(reset);
    let patch = SubscriptionPatch {
        start: resets.patch("start", start_from(settings.start, settings.start_unix_ms)?)?,
        lease: resets.duration("lease", settings.lease_ms)?,
        retry: retry_patch_from(settings.retry, &mut resets)?,
        dead_letter_topic: resets.patch("dead_letter_topic", settings.dead_letter_topic)?,
        max_in_flight: resets.patch("max_in_flight", settings.max_in_flight)?,
        ordered: resets.patch("ordered", settings.ordered)?,
        filter: resets.patch("filter", settings.filter)?,
        max_rate: resets.patch("max_rate", settings.max_rate)?,
        breaker: resets.patch("breaker", settings.breaker.map(breaker_from).transpose()?)?,
    };
    resets.finish()?;
    Ok(patch)
}

fn retry_patch_from(retry: Option<v1::RetryPolicy>, resets: &mut Resets) -> Result<Patch<RetryPatch>, Error> {
    let whole = resets.take("retry");
    let is_set = retry.is_some();
    let retry = retry.unwrap_or_default();
    let patch = RetryPatch {
        max_attempts: resets.patch("retry.max_attempts", retry.max_attempts)?,
        initial: resets.duration("retry.initial", retry.initial_ms)?,
        multiplier: resets.patch("retry.multiplier", retry.multiplier)?,
        max: resets.duration("retry.max", retry.max_ms)?,
        jitter: resets.patch("retry.jitter", retry.jitter)?,
    };
    match (whole, is_set || patch != RetryPatch::default()) {
        (true, true) => Err(exclusive("retry", "a field is either set or reset, not both")),
        (true, false) => Ok(Patch::Reset),
        (false, true) => Ok(Patch::Set(patch)),
        (false, false) => Ok(Patch::Keep),
    }
}

/// A change of a subscription for the wire.
#[must_use]
pub fn subscription_patch_into(patch: SubscriptionPatch) -> (v1::SubscriptionSettings, Vec<String>) {
    let mut written = Written::default();
    let retry = written.set("retry", patch.retry).map(|retry| v1::RetryPolicy {
        max_attempts: written.set("retry.max_attempts", retry.max_attempts),
        initial_ms: written.set("retry.initial_ms", retry.initial).map(delay_into),
        multiplier: written.set("retry.multiplier", retry.multiplier),
        max_ms: written.set("retry.max_ms", retry.max).map(delay_into),
        jitter: written.set("retry.jitter", retry.jitter),
    });
    let (start, start_unix_ms) = written.set("start", patch.start).map(start_into).unwrap_or_default();
    let settings = v1::SubscriptionSettings {
        start,
        start_unix_ms,
        lease_ms: written.set("lease_ms", patch.lease).map(delay_into),
        retry,
        dead_letter_topic: written.set("dead_letter_topic", patch.dead_letter_topic),
        max_in_flight: written.set("max_in_flight", patch.max_in_flight),
        ordered: written.set("ordered", patch.ordered),
        filter: written.set("filter", patch.filter),
        max_rate: written.set("max_rate", patch.max_rate),
        breaker: written.set("breaker", patch.breaker).map(breaker_into),
    };
    (settings, written.0)
}
