//! What is asked of scheduled messages: by handle, by range, by page; and where a subscription is
//! moved to.

use punctual_broker_api::{
    CancelOutcome, DeliverNowOutcome, Error, Handle, ListRequest, MessageId, PageRequest, RescheduleOutcome, SeekTo,
    TimeRange, TimelineBucket, When,
};

use super::{
    delay_from, delay_into, exclusive, invalid_field, missing, time_from, time_from_optional, time_into, topic_from,
    unreadable,
};
use crate::v1;

/// Messages or names of a page that names no limit: `punctual_types::limits::PAGE_DEFAULT`.
const PAGE_DEFAULT: u32 = 100;

/// A message by exactly one of id and key.
///
/// # Errors
/// `malformed_request` when there is neither, `exclusive_fields` when there is too much.
pub fn handle_from(id: Option<String>, key: Option<String>, ordering_key: Option<String>) -> Result<Handle, Error> {
    match (id, key) {
        (Some(_), Some(_)) => Err(exclusive("key", "a message is named by one of `id` and `key`, not by both")),
        (None, None) => Err(missing("id", "the request names no message: it has neither `id` nor `key`")),
        (Some(_), None) if ordering_key.is_some() => {
            Err(exclusive("ordering_key", "an `ordering_key` goes with a `key`, not with an `id`"))
        }
        (Some(id), None) => Ok(Handle::Id(MessageId::new(&id))),
        (None, Some(key)) => Ok(Handle::Key { key, ordering_key }),
    }
}

/// A handle for the wire: id, key, ordering key.
#[must_use]
pub fn handle_into(handle: Handle) -> (Option<String>, Option<String>, Option<String>) {
    match handle {
        Handle::Id(id) => (Some(id.as_str().to_owned()), None, None),
        Handle::Key { key, ordering_key } => (None, Some(key), ordering_key),
    }
}

/// When a message is to be delivered; `None` when nothing says so.
pub(super) fn when_from(
    delay_ms: Option<i64>,
    deliver_at_unix_ms: Option<i64>,
    delay_level: Option<u32>,
) -> Result<Option<When>, Error> {
    match (delay_ms, deliver_at_unix_ms, delay_level) {
        (None, None, None) => Ok(None),
        (Some(delay), None, None) => delay_from("delay", delay).map(|delay| Some(When::Delay(delay))),
        (None, Some(time), None) => time_from("deliver_at", time).map(|time| Some(When::At(time))),
        (None, None, Some(level)) => Ok(Some(When::Level(level))),
        (_, Some(_), _) => Err(exclusive("deliver_at", "more than one of `delay`, `deliver_at` and `delay_level`")),
        (_, None, Some(_)) => Err(exclusive("delay_level", "more than one of `delay`, `deliver_at` and `delay_level`")),
    }
}

/// The time of a reschedule, which has to be there.
///
/// # Errors
/// `malformed_request` when it is not, else as for a message.
pub fn required_when_from(
    delay_ms: Option<i64>,
    deliver_at_unix_ms: Option<i64>,
    delay_level: Option<u32>,
) -> Result<When, Error> {
    when_from(delay_ms, deliver_at_unix_ms, delay_level)?
        .ok_or_else(|| missing("delay", "the request names no time: it has neither `delay` nor `deliver_at`"))
}

/// A time for the wire: delay, due time, delay level; none for now.
#[must_use]
pub fn when_into(when: When) -> (Option<i64>, Option<i64>, Option<u32>) {
    match when {
        When::Now => (None, None, None),
        When::Delay(delay) => (Some(delay_into(delay)), None, None),
        When::At(time) => (None, Some(time_into(time)), None),
        When::Level(level) => (None, None, Some(level)),
    }
}

/// A range of due times.
///
/// # Errors
/// `invalid_time`.
pub fn range_from(from_unix_ms: Option<i64>, to_unix_ms: Option<i64>) -> Result<TimeRange, Error> {
    Ok(TimeRange { from: time_from_optional("from", from_unix_ms)?, to: time_from_optional("to", to_unix_ms)? })
}

/// A page of names.
#[must_use]
pub fn page_from(limit: u32, cursor: Option<String>) -> PageRequest {
    PageRequest { limit: if limit == 0 { PAGE_DEFAULT } else { limit }, cursor }
}

/// A page of scheduled messages.
///
/// # Errors
/// `invalid_name`, `invalid_time`.
pub fn list_request_from(request: v1::ListRequest) -> Result<ListRequest, Error> {
    let PageRequest { limit, cursor } = page_from(request.limit, request.cursor);
    Ok(ListRequest {
        topic: topic_from(&request.namespace, &request.topic)?,
        range: range_from(request.from_unix_ms, request.to_unix_ms)?,
        key_prefix: request.key_prefix,
        limit,
        cursor,
        with_body: request.body.unwrap_or(true),
    })
}

/// A bucket for the wire.
#[must_use]
pub fn timeline_bucket_into(bucket: TimelineBucket) -> v1::TimelineBucket {
    v1::TimelineBucket { from_unix_ms: time_into(bucket.from), count: bucket.count }
}

/// A bucket.
///
/// # Errors
/// `invalid_time`.
pub fn timeline_bucket_from(bucket: v1::TimelineBucket) -> Result<TimelineBucket, Error> {
    Ok(TimelineBucket { from: time_from("from", bucket.from_unix_ms)?, count: bucket.count })
}

/// Where a subscription is moved to: exactly one of a target and a time.
///
/// # Errors
/// `exclusive_fields`, `invalid_time`, `invalid_field`, and `malformed_request` when there is none.
pub fn seek_from(to: i32, to_unix_ms: Option<i64>) -> Result<SeekTo, Error> {
    let target = match v1::SeekTarget::try_from(to) {
        Ok(v1::SeekTarget::Unspecified) => None,
        Ok(v1::SeekTarget::Earliest) => Some(SeekTo::Earliest),
        Ok(v1::SeekTarget::Latest) => Some(SeekTo::Latest),
        Err(error) => return Err(invalid_field("to", format!("cannot seek to target {}", error.0))),
    };
    match (target, to_unix_ms) {
        (Some(_), Some(_)) => Err(exclusive("to", "a seek goes to one of a target and a time, not to both")),
        (Some(target), None) => Ok(target),
        (None, Some(time)) => Ok(SeekTo::Time(time_from("to", time)?)),
        (None, None) => Err(missing("to", "the request does not say where to seek to")),
    }
}

/// A cancel's outcome for the wire.
#[must_use]
pub fn cancel_outcome_into(outcome: CancelOutcome) -> v1::CancelOutcome {
    match outcome {
        CancelOutcome::Cancelled => v1::CancelOutcome::Cancelled,
        CancelOutcome::TooLate => v1::CancelOutcome::TooLate,
        CancelOutcome::NotFound => v1::CancelOutcome::NotFound,
    }
}

/// A cancel's outcome.
///
/// # Errors
/// `internal` for one that this version does not know.
pub fn cancel_outcome_from(outcome: i32) -> Result<CancelOutcome, Error> {
    match v1::CancelOutcome::try_from(outcome) {
        Ok(v1::CancelOutcome::Cancelled) => Ok(CancelOutcome::Cancelled),
        Ok(v1::CancelOutcome::TooLate) => Ok(CancelOutcome::TooLate),
        Ok(v1::CancelOutcome::NotFound) => Ok(CancelOutcome::NotFound),
        Ok(v1::CancelOutcome::Unspecified) | Err(_) => Err(unreadable(&format!("cancel outcome {outcome}"))),
    }
}

/// A reschedule's outcome for the wire.
#[must_use]
pub fn reschedule_outcome_into(outcome: RescheduleOutcome) -> v1::RescheduleReply {
    let (outcome, deliver_at_unix_ms) = match outcome {
        RescheduleOutcome::Rescheduled { deliver_at } => {
            (v1::RescheduleOutcome::Rescheduled, Some(time_into(deliver_at)))
        }
        RescheduleOutcome::TooLate => (v1::RescheduleOutcome::TooLate, None),
        RescheduleOutcome::NotFound => (v1::RescheduleOutcome::NotFound, None),
    };
    v1::RescheduleReply { outcome: outcome.into(), deliver_at_unix_ms }
}

/// A reschedule's outcome.
///
/// # Errors
/// `internal` for one that this version does not know.
pub fn reschedule_outcome_from(reply: v1::RescheduleReply) -> Result<RescheduleOutcome, Error> {
    match (v1::RescheduleOutcome::try_from(reply.outcome), reply.deliver_at_unix_ms) {
        (Ok(v1::RescheduleOutcome::Rescheduled), Some(time)) => {
            Ok(RescheduleOutcome::Rescheduled { deliver_at: time_from("deliver_at", time)? })
        }
        (Ok(v1::RescheduleOutcome::TooLate), _) => Ok(RescheduleOutcome::TooLate),
        (Ok(v1::RescheduleOutcome::NotFound), _) => Ok(RescheduleOutcome::NotFound),
        (Ok(v1::RescheduleOutcome::Rescheduled | v1::RescheduleOutcome::Unspecified) | Err(_), _) => {
            Err(unreadable(&format!("reschedule outcome {}", reply.outcome)))
        }
    }
}

/// A deliver-now's outcome for the wire.
#[must_use]
pub fn deliver_now_outcome_into(outcome: DeliverNowOutcome) -> v1::DeliverNowOutcome {
    match outcome {
        DeliverNowOutcome::DeliveredNow => v1::DeliverNowOutcome::DeliveredNow,
        DeliverNowOutcome::TooLate => v1::DeliverNowOutcome::TooLate,
        DeliverNowOutcome::NotFound => v1::DeliverNowOutcome::NotFound,
    }
}

/// A deliver-now's outcome.
///
/// # Errors
/// `internal` for one that this version does not know.
pub fn deliver_now_outcome_from(outcome: i32) -> Result<DeliverNowOutcome, Error> {
    match v1::DeliverNowOutcome::try_from(outcome) {
        Ok(v1::DeliverNowOutcome::DeliveredNow) => Ok(DeliverNowOutcome::DeliveredNow),
        Ok(v1::DeliverNowOutcome::TooLate) => Ok(DeliverNowOutcome::TooLate),
        Ok(v1::DeliverNowOutcome::NotFound) => Ok(DeliverNowOutcome::NotFound),
        Ok(v1::DeliverNowOutcome::Unspecified) | Err(_) => Err(unreadable(&format!("deliver-now outcome {outcome}"))),
    }
}

/// A range to cancel: at least one end, or everything by its name, so that a forgotten field does
/// not empty a topic.
///
/// # Errors
/// `malformed_request` without either, `exclusive_fields` with both, `invalid_time`.
pub fn cancel_range_from(request: &v1::CancelRangeRequest) -> Result<TimeRange, Error> {
    let range = range_from(request.from_unix_ms, request.to_unix_ms)?;
    match (request.all, range == TimeRange::default()) {
        (true, true) | (false, false) => Ok(range),
        (true, false) => Err(exclusive("all", "a range to cancel is either `all` or has `from` and `to`")),
        (false, true) => Err(missing("all", "the request names no range: it has neither `from` and `to` nor `all`")
            .with_hint("set `all` to cancel everything that is scheduled")),
    }
}
