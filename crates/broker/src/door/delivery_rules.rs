//! Checks of what a subscription's settings say about who gets what, and when.

use punctual_broker_api::{BreakerState, Code, DelayMs, Error, SubscriptionSettings};
use punctual_core::Filter;
use punctual_types::limits;

use super::validate::check_range;
use crate::catalog::Topic;

/// Checks the filter, the rate, the breaker and the order of a subscription.
pub(super) fn check_delivery(
    current: Option<&SubscriptionSettings>,
    settings: &SubscriptionSettings,
) -> Result<(), Error> {
    if let Some(text) = &settings.filter {
        Filter::parse(text).map_err(|error| {
            Error::new(Code::InvalidFilter, format!("cannot read the filter: {error}"))
                .with_field("filter")
                .with_hint("tags such as `a || b`, or tests such as `header.region = 'eu'` joined by AND and OR")
        })?;
    }
    if let Some(rate) = settings.max_rate {
        check_range("max_rate", rate, 1, limits::RATE_MAX)?;
    }
    if let Some(breaker) = settings.breaker {
        let least = DelayMs::from_ms(1);
        check_range("breaker.failures", breaker.failures, 1, limits::BREAKER_FAILURES_MAX)?;
        check_range("breaker.window", breaker.window, least, limits::BREAKER_TIME_MAX)?;
        check_range("breaker.pause", breaker.pause, least, limits::BREAKER_TIME_MAX)?;
    }
    if current.is_some_and(|current| current.ordered != settings.ordered) {
        let text =
            "cannot change `ordered` of a subscription that exists: what it has under way was begun the other way";
        return Err(Error::new(Code::SettingFixed, text).with_field("ordered").with_hint("make another subscription"));
    }
    Ok(())
}

/// Checks that a topic has the one priority that an ordered subscription needs.
pub(super) fn check_order(topic: &Topic, settings: &SubscriptionSettings) -> Result<(), Error> {
    if !settings.ordered || topic.settings.priorities == 1 {
        return Ok(());
    }
    let text = format!(
        "cannot order a subscription of topic `{}`: it has {} priorities, and a higher one would overtake",
        topic.name, topic.settings.priorities
    );
    Err(Error::new(Code::SettingFixed, text).with_field("ordered"))
}

/// What the breakers of a subscription's partitions do together: the one that holds back most.
pub(super) fn breaker_of(partitions: impl Iterator<Item = punctual_core::BreakerState>) -> BreakerState {
    let mut worst = BreakerState::Closed;
    for state in partitions {
        worst = match (worst, state) {
            (BreakerState::Open, _) | (_, punctual_core::BreakerState::Open) => BreakerState::Open,
            (BreakerState::Probing, _) | (_, punctual_core::BreakerState::HalfOpen) => BreakerState::Probing,
            (BreakerState::Closed, punctual_core::BreakerState::Closed) => BreakerState::Closed,
        };
    }
    worst
}
