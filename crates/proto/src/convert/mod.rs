//! How the wire's messages stand for the words of `broker-api`, both ways.
//!
//! `…_from` reads what a peer sent and refuses what it may not send, naming the field as the HTTP
//! API does; `…_into` writes and cannot fail. What only the broker can judge (sizes, ranges of
//! settings, whether things exist) passes through.

mod broker;
mod message;
mod pending;
mod prepared;
mod publish;
mod receipts;
mod redrive;
mod schedules;
mod settings;
mod views;

#[cfg(test)]
mod tests;

pub use broker::{clock_from, clock_into, health_into, limits_from, status_from};
pub use message::{deliveries_from, delivery_into, view_from, view_into};
pub use pending::{
    cancel_outcome_from, cancel_outcome_into, cancel_range_from, deliver_now_outcome_from, deliver_now_outcome_into,
    handle_from, handle_into, list_request_from, page_from, range_from, required_when_from, reschedule_outcome_from,
    reschedule_outcome_into, seek_from, timeline_bucket_from, timeline_bucket_into, when_into,
};
pub use prepared::{commit_outcome_into, prepared_outcome_from, rollback_outcome_into};
pub use publish::{new_message_from, new_message_into, published_from, published_into};
pub use receipts::{
    ack_outcome_from, ack_outcome_into, extend_outcomes_from, extend_outcomes_into, nack_outcome_from,
    nack_outcome_into, receipts_from, receipts_into, release_outcome_from, release_outcome_into,
};
pub use redrive::{ids_into, list_state_into, redrive_from, subscription_list_from};
pub use schedules::{schedule_from, schedule_patch_from, schedule_patch_into, schedule_view_from, schedule_view_into};
pub use settings::{
    namespace_patch_from, namespace_patch_into, subscription_patch_from, subscription_patch_into, topic_patch_from,
    topic_patch_into,
};
pub use views::{
    namespace_view_from, namespace_view_into, subscription_view_from, subscription_view_into, topic_view_from,
    topic_view_into,
};

use punctual_broker_api::{
    Code, DelayMs, Error, NameError, NamespaceName, SubscriptionName, SubscriptionPath, Time, TopicName, TopicPath,
};

/// Characters of a refused value that its error repeats.
const ECHO_CHARACTERS_MAX: usize = 64;

fn echo(value: &str) -> String {
    value.chars().take(ECHO_CHARACTERS_MAX).collect()
}

/// A value of a field that is out of its range.
#[must_use]
pub fn invalid_field(field: &str, message: String) -> Error {
    Error::new(Code::InvalidField, message).with_field(field)
}

/// Fields that exclude each other.
fn exclusive(field: &str, message: &str) -> Error {
    Error::new(Code::ExclusiveFields, message).with_field(field)
}

/// A field without which the request says nothing.
#[must_use]
pub fn missing(field: &str, message: &str) -> Error {
    Error::new(Code::MalformedRequest, message).with_field(field)
}

/// An answer that this version cannot read.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::new(Code::Internal, format!("cannot read the broker's answer: {what}"))
        .with_hint("use a client of the broker's version")
}

fn name<T>(field: &str, text: &str, parsed: Result<T, NameError>) -> Result<T, Error> {
    parsed.map_err(|error| {
        Error::new(Code::InvalidName, format!("cannot use {field} name `{}`: it {error}", echo(text))).with_field(field)
    })
}

/// A namespace's name; empty is `default`.
///
/// # Errors
/// `invalid_name`.
pub fn namespace_from(text: &str) -> Result<NamespaceName, Error> {
    if text.is_empty() {
        return Ok(NamespaceName::default());
    }
    name("namespace", text, NamespaceName::parse(text))
}

/// A topic of a namespace.
///
/// # Errors
/// `invalid_name`.
pub fn topic_from(namespace: &str, topic: &str) -> Result<TopicPath, Error> {
    Ok(TopicPath { namespace: namespace_from(namespace)?, topic: name("topic", topic, TopicName::parse(topic))? })
}

/// A subscription of a topic.
///
/// # Errors
/// `invalid_name`.
pub fn subscription_from(namespace: &str, topic: &str, subscription: &str) -> Result<SubscriptionPath, Error> {
    Ok(SubscriptionPath {
        topic: topic_from(namespace, topic)?,
        subscription: name("subscription", subscription, SubscriptionName::parse(subscription))?,
    })
}

/// A duration.
///
/// # Errors
/// `invalid_duration` when it is negative.
pub fn delay_from(field: &str, ms: i64) -> Result<DelayMs, Error> {
    u64::try_from(ms).map(DelayMs::from_ms).map_err(|_| {
        Error::new(Code::InvalidDuration, format!("cannot use {ms} ms as a duration: it is negative")).with_field(field)
    })
}

/// A duration that may be absent.
///
/// # Errors
/// `invalid_duration` when it is negative.
pub fn delay_from_optional(field: &str, ms: Option<i64>) -> Result<Option<DelayMs>, Error> {
    ms.map(|ms| delay_from(field, ms)).transpose()
}

/// A time.
///
/// # Errors
/// `invalid_time` when it is negative or lies after the year 9999.
pub fn time_from(field: &str, unix_ms: i64) -> Result<Time, Error> {
    u64::try_from(unix_ms).ok().and_then(Time::from_unix_ms).ok_or_else(|| {
        let why = if unix_ms < 0 { "it is negative" } else { "it lies after the year 9999" };
        Error::new(Code::InvalidTime, format!("cannot use {unix_ms} as a time in Unix milliseconds: {why}"))
            .with_field(field)
    })
}

/// A time that may be absent.
///
/// # Errors
/// `invalid_time` when it is negative or lies after the year 9999.
pub fn time_from_optional(field: &str, unix_ms: Option<i64>) -> Result<Option<Time>, Error> {
    unix_ms.map(|unix_ms| time_from(field, unix_ms)).transpose()
}

/// Milliseconds for the wire. What 63 bits do not hold lies beyond every limit and every time, so
/// that the largest number says the same of it.
#[must_use]
pub fn ms_into(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// A duration for the wire.
#[must_use]
pub fn delay_into(delay: DelayMs) -> i64 {
    ms_into(delay.ms())
}

/// A time for the wire.
#[must_use]
pub fn time_into(time: Time) -> i64 {
    ms_into(time.unix_ms())
}
