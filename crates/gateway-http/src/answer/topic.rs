//! Topics, subscriptions and namespaces: their settings, then what they hold and have done.

use punctual_broker_api::{
    Breaker, BreakerState, DelayMs, NamespaceView, RetryPolicy, SubscriptionStats, SubscriptionView, TopicStats,
    TopicView,
};
use serde::Serialize;

use super::At;

#[derive(Serialize)]
pub(crate) struct TopicAnswer<'t> {
    name: &'t str,
    partitions: u16,
    priorities: u16,
    durability: &'static str,
    retention_ms: Option<u64>,
    keep_acked_ms: u64,
    on_expiry: &'static str,
    dedup_window_ms: u64,
    stats: TopicStatsAnswer,
}

#[derive(Serialize)]
struct TopicStatsAnswer {
    scheduled: u64,
    prepared: u64,
    ready: u64,
    leased: u64,
    retrying: u64,
    dead: u64,
    published_total: u64,
    delivered_total: u64,
    acked_total: u64,
    cancelled_total: u64,
    expired_total: u64,
    oldest_ready_age_ms: Option<u64>,
    next_due_at: Option<At>,
}

impl<'t> TopicAnswer<'t> {
    pub(crate) fn of(view: &'t TopicView) -> Self {
        let settings = &view.settings;
        Self {
            name: &view.name,
            partitions: settings.partitions,
            priorities: settings.priorities,
            durability: settings.durability.as_str(),
            retention_ms: settings.retention.map(DelayMs::ms),
            keep_acked_ms: settings.keep_acked.ms(),
            on_expiry: settings.on_expiry.as_str(),
            dedup_window_ms: settings.dedup_window.ms(),
            stats: TopicStatsAnswer::of(&view.stats),
        }
    }
}

impl TopicStatsAnswer {
    fn of(stats: &TopicStats) -> Self {
        Self {
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
            oldest_ready_age_ms: stats.oldest_ready_age_ms,
            next_due_at: stats.next_due_at.map(At),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct SubscriptionAnswer<'s> {
    name: &'s str,
    start: String,
    lease_ms: u64,
    retry: RetryAnswer,
    dead_letter_topic: Option<&'s str>,
    max_in_flight: u32,
    ordered: bool,
    filter: Option<&'s str>,
    max_rate: Option<u32>,
    breaker: Option<BreakerAnswer>,
    paused: bool,
    stats: SubscriptionStatsAnswer,
}

#[derive(Serialize)]
struct RetryAnswer {
    max_attempts: u32,
    initial_ms: u64,
    multiplier: f64,
    max_ms: u64,
    jitter: f64,
}

#[derive(Serialize)]
struct BreakerAnswer {
    failures: u32,
    window_ms: u64,
    pause_ms: u64,
}

impl BreakerAnswer {
    const fn of(breaker: Breaker) -> Self {
        Self { failures: breaker.failures, window_ms: breaker.window.ms(), pause_ms: breaker.pause.ms() }
    }
}

#[derive(Serialize)]
struct SubscriptionStatsAnswer {
    ready: u64,
    leased: u64,
    retrying: u64,
    dead: u64,
    delivered_total: u64,
    acked_total: u64,
    failed_total: u64,
    filtered_total: u64,
    expired_total: u64,
    oldest_ready_age_ms: Option<u64>,
    breaker: Option<&'static str>,
}

impl<'s> SubscriptionAnswer<'s> {
    pub(crate) fn of(view: &'s SubscriptionView) -> Self {
        let settings = &view.settings;
        Self {
            name: &view.name,
            start: settings.start.to_string(),
            lease_ms: settings.lease.ms(),
            retry: RetryAnswer::of(&settings.retry),
            dead_letter_topic: settings.dead_letter_topic.as_deref(),
            max_in_flight: settings.max_in_flight,
            ordered: settings.ordered,
            filter: settings.filter.as_deref(),
            max_rate: settings.max_rate,
            breaker: settings.breaker.map(BreakerAnswer::of),
            paused: view.paused,
            stats: SubscriptionStatsAnswer::of(&view.stats),
        }
    }
}

impl RetryAnswer {
    const fn of(retry: &RetryPolicy) -> Self {
        Self {
            max_attempts: retry.max_attempts,
            initial_ms: retry.initial.ms(),
            multiplier: retry.multiplier,
            max_ms: retry.max.ms(),
            jitter: retry.jitter,
        }
    }
}

impl SubscriptionStatsAnswer {
    fn of(stats: &SubscriptionStats) -> Self {
        Self {
            ready: stats.ready,
            leased: stats.leased,
            retrying: stats.retrying,
            dead: stats.dead,
            delivered_total: stats.delivered_total,
            acked_total: stats.acked_total,
            failed_total: stats.failed_total,
            filtered_total: stats.filtered_total,
            expired_total: stats.expired_total,
            oldest_ready_age_ms: stats.oldest_ready_age_ms,
            breaker: stats.breaker.map(BreakerState::as_str),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct NamespaceAnswer<'n> {
    name: &'n str,
    max_delay_ms: Option<u64>,
    delay_levels_ms: Vec<u64>,
    auto_create: bool,
    limits: LimitsAnswer,
    topics: u64,
}

#[derive(Serialize)]
struct LimitsAnswer {
    max_scheduled: Option<u64>,
    max_ready: Option<u64>,
    max_bytes: Option<u64>,
    publish_per_second: Option<u64>,
}

impl<'n> NamespaceAnswer<'n> {
    pub(crate) fn of(view: &'n NamespaceView) -> Self {
        let settings = &view.settings;
        let limits = &settings.limits;
        Self {
            name: &view.name,
            max_delay_ms: settings.max_delay.map(DelayMs::ms),
            delay_levels_ms: settings.delay_levels.iter().map(|level| level.ms()).collect(),
            auto_create: settings.auto_create,
            limits: LimitsAnswer {
                max_scheduled: limits.max_scheduled,
                max_ready: limits.max_ready,
                max_bytes: limits.max_bytes,
                publish_per_second: limits.publish_per_second,
            },
            topics: view.topics,
        }
    }
}
