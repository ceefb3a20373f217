//! Namespaces, topics and subscriptions as answers show them: every setting present.

use punctual_broker_api::{
    BreakerState, DelayMs, Error, NamespaceSettings, NamespaceView, RetryPolicy, SubscriptionSettings,
    SubscriptionStats, SubscriptionView, TopicSettings, TopicStats, TopicView,
};

use super::{
    delay_from, delay_from_optional, delay_into, ms_into,
    settings::{
        breaker_from, breaker_into, durability_from, durability_into, levels_into, limits_from, limits_into,
        on_expiry_from, on_expiry_into, start_from, start_into,
    },
    time_from_optional, time_into, unreadable,
};
use crate::v1;

fn present<T>(what: &str, value: Option<T>) -> Result<T, Error> {
    value.ok_or_else(|| unreadable(&format!("no {what}")))
}

fn span(what: &str, ms: Option<i64>) -> Result<DelayMs, Error> {
    present(what, ms).and_then(|ms| delay_from(what, ms))
}

fn narrow(what: &str, value: Option<u32>) -> Result<u16, Error> {
    let value = present(what, value)?;
    u16::try_from(value).map_err(|_| unreadable(&format!("{what} {value}")))
}

fn age_from(ms: Option<i64>) -> Result<Option<u64>, Error> {
    Ok(delay_from_optional("oldest_ready_age_ms", ms)?.map(DelayMs::ms))
}

/// A namespace for the wire.
#[must_use]
pub fn namespace_view_into(view: NamespaceView) -> v1::Namespace {
    let settings = v1::NamespaceSettings {
        max_delay_ms: view.settings.max_delay.map(delay_into),
        delay_levels: Some(levels_into(&view.settings.delay_levels)),
        auto_create: Some(view.settings.auto_create),
        limits: Some(limits_into(view.settings.limits)),
    };
    v1::Namespace { name: view.name, settings: Some(settings), topics: view.topics }
}

/// A namespace.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn namespace_view_from(view: v1::Namespace) -> Result<NamespaceView, Error> {
    let settings = present("settings", view.settings)?;
    let levels = present("delay_levels", settings.delay_levels)?.delays_ms;
    Ok(NamespaceView {
        name: view.name,
        settings: NamespaceSettings {
            max_delay: delay_from_optional("max_delay", settings.max_delay_ms)?,
            delay_levels: levels.into_iter().map(|ms| delay_from("delay_levels", ms)).collect::<Result<_, _>>()?,
            auto_create: present("auto_create", settings.auto_create)?,
            limits: limits_from(&present("limits", settings.limits)?),
        },
        topics: view.topics,
    })
}

/// A topic for the wire.
#[must_use]
pub fn topic_view_into(view: TopicView) -> v1::Topic {
    let settings = v1::TopicSettings {
        partitions: Some(view.settings.partitions.into()),
        priorities: Some(view.settings.priorities.into()),
        durability: Some(durability_into(view.settings.durability)),
        retention_ms: view.settings.retention.map(delay_into),
        keep_acked_ms: Some(delay_into(view.settings.keep_acked)),
        on_expiry: Some(on_expiry_into(view.settings.on_expiry)),
        dedup_window_ms: Some(delay_into(view.settings.dedup_window)),
    };
    let stats = v1::TopicStats {
        scheduled: view.stats.scheduled,
        prepared: view.stats.prepared,
        ready: view.stats.ready,
        leased: view.stats.leased,
        retrying: view.stats.retrying,
        dead: view.stats.dead,
        published_total: view.stats.published_total,
        delivered_total: view.stats.delivered_total,
        acked_total: view.stats.acked_total,
        cancelled_total: view.stats.cancelled_total,
        expired_total: view.stats.expired_total,
        oldest_ready_age_ms: view.stats.oldest_ready_age_ms.map(ms_into),
        next_due_at_unix_ms: view.stats.next_due_at.map(time_into),
    };
    v1::Topic { name: view.name, settings: Some(settings), stats: Some(stats) }
}

/// A topic.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn topic_view_from(view: v1::Topic) -> Result<TopicView, Error> {
    let settings = present("settings", view.settings)?;
    let stats = present("stats", view.stats)?;
    Ok(TopicView {
        name: view.name,
        settings: TopicSettings {
            partitions: narrow("partitions", settings.partitions)?,
            priorities: narrow("priorities", settings.priorities)?,
            durability: durability_from(present("durability", settings.durability)?)?,
            retention: delay_from_optional("retention", settings.retention_ms)?,
            keep_acked: span("keep_acked", settings.keep_acked_ms)?,
            on_expiry: on_expiry_from(present("on_expiry", settings.on_expiry)?)?,
            dedup_window: span("dedup_window", settings.dedup_window_ms)?,
        },
        stats: TopicStats {
            scheduled: stats.scheduled,
            prepared: stats.prepared,
            ready: stats.ready,
            leased: stats.leased,
            retrying: stats.retrying,
            dead: stats.dead,
            published_total: stats.published_total,
            delivered_total: stats.delivered_total,
            acked_total: stats.acked_total,
            cancelled_total: stats.cancelled_total,
            expired_total: stats.expired_total,
            oldest_ready_age_ms: age_from(stats.oldest_ready_age_ms)?,
            next_due_at: time_from_optional("next_due_at", stats.next_due_at_unix_ms)?,
        },
    })
}

/// A subscription for the wire.
#[must_use]
pub fn subscription_view_into(view: SubscriptionView) -> v1::Subscription {
    let retry = v1::RetryPolicy {
        max_attempts: Some(view.settings.retry.max_attempts),
        initial_ms: Some(delay_into(view.settings.retry.initial)),
        multiplier: Some(view.settings.retry.multiplier),
        max_ms: Some(delay_into(view.settings.retry.max)),
        jitter: Some(view.settings.retry.jitter),
    };
    let (start, start_unix_ms) = start_into(view.settings.start);
    let settings = v1::SubscriptionSettings {
        start,
        start_unix_ms,
        lease_ms: Some(delay_into(view.settings.lease)),
        retry: Some(retry),
        dead_letter_topic: view.settings.dead_letter_topic,
        max_in_flight: Some(view.settings.max_in_flight),
        ordered: Some(view.settings.ordered),
        filter: view.settings.filter,
        max_rate: view.settings.max_rate,
        breaker: view.settings.breaker.map(breaker_into),
    };
    let stats = v1::SubscriptionStats {
        ready: view.stats.ready,
        leased: view.stats.leased,
        retrying: view.stats.retrying,
        dead: view.stats.dead,
        delivered_total: view.stats.delivered_total,
        acked_total: view.stats.acked_total,
        failed_total: view.stats.failed_total,
        filtered_total: view.stats.filtered_total,
        expired_total: view.stats.expired_total,
        oldest_ready_age_ms: view.stats.oldest_ready_age_ms.map(ms_into),
        breaker: view.stats.breaker.map(breaker_state_into),
    };
    v1::Subscription { name: view.name, settings: Some(settings), paused: view.paused, stats: Some(stats) }
}

/// A subscription.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn subscription_view_from(view: v1::Subscription) -> Result<SubscriptionView, Error> {
    let settings = present("settings", view.settings)?;
    let retry = present("retry", settings.retry)?;
    let stats = present("stats", view.stats)?;
    Ok(SubscriptionView {
        name: view.name,
        settings: SubscriptionSettings {
            start: present("start", start_from(settings.start, settings.start_unix_ms)?)?,
            lease: span("lease", settings.lease_ms)?,
            retry: RetryPolicy {
                max_attempts: present("retry.max_attempts", retry.max_attempts)?,
                initial: span("retry.initial", retry.initial_ms)?,
                multiplier: present("retry.multiplier", retry.multiplier)?,
                max: span("retry.max", retry.max_ms)?,
                jitter: present("retry.jitter", retry.jitter)?,
            },
            dead_letter_topic: settings.dead_letter_topic,
            max_in_flight: present("max_in_flight", settings.max_in_flight)?,
            ordered: present("ordered", settings.ordered)?,
            filter: settings.filter,
            max_rate: settings.max_rate,
            breaker: settings.breaker.map(breaker_from).transpose()?,
        },
        paused: view.paused,
        stats: SubscriptionStats {
            ready: stats.ready,
            leased: stats.leased,
            retrying: stats.retrying,
            dead: stats.dead,
            delivered_total: stats.delivered_total,
            acked_total: stats.acked_total,
            failed_total: stats.failed_total,
            filtered_total: stats.filtered_total,
            expired_total: stats.expired_total,
            oldest_ready_age_ms: age_from(stats.oldest_ready_age_ms)?,
            breaker: stats.breaker.map(breaker_state_from).transpose()?,
        },
    })
}

fn breaker_state_into(state: BreakerState) -> i32 {
    let wire = match state {
        BreakerState::Closed => v1::BreakerState::Closed,
        BreakerState::Open => v1::BreakerState::Open,
        BreakerState::Probing => v1::BreakerState::Probing,
    };
    wire.into()
}

fn breaker_state_from(state: i32) -> Result<BreakerState, Error> {
    match v1::BreakerState::try_from(state) {
        Ok(v1::BreakerState::Closed) => Ok(BreakerState::Closed),
        Ok(v1::BreakerState::Open) => Ok(BreakerState::Open),
        Ok(v1::BreakerState::Probing) => Ok(BreakerState::Probing),
        Ok(v1::BreakerState::Unspecified) | Err(_) => Err(unreadable(&format!("breaker state {state}"))),
    }
}
