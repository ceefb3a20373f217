//! Looking at scheduled messages and changing them.

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use punctual_broker_api::{
    CancelOutcome, Code, DelayMs, DeliverNowOutcome, Error, ListRequest, PreparedOutcome, RescheduleOutcome, TimeRange,
    TimelineRequest,
};
use punctual_types::limits::{PAGE_DEFAULT, TIMELINE_BUCKET_MIN};
use serde::Serialize;

use super::{Answer, outcome};
use crate::{
    answer::{self, At, Bucket, Outcome, PageAnswer, ViewAnswer},
    door::Asked,
    json::{Fields, read},
    message,
};

/// `GET T/messages/{id}`, `GET T/keys/{key}`.
pub(super) async fn get(mut asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let handle = asked.captures.handle(&mut asked.query)?;
    asked.query.finish()?;
    let view = asked.door.broker.get(topic, handle).await?;
    Ok(answer::json(StatusCode::OK, &ViewAnswer::of(&view)))
}

/// `DELETE T/messages/{id}`, `DELETE T/keys/{key}`.
pub(super) async fn cancel(mut asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let handle = asked.captures.handle(&mut asked.query)?;
    asked.query.finish()?;
    Ok(match asked.door.broker.cancel(topic, handle).await? {
        CancelOutcome::Cancelled => outcome(StatusCode::OK, "cancelled"),
        CancelOutcome::TooLate => outcome(StatusCode::CONFLICT, "too_late"),
        CancelOutcome::NotFound => outcome(StatusCode::NOT_FOUND, "not_found"),
    })
}

/// `PATCH T/messages/{id}`, `PATCH T/keys/{key}`.
pub(super) async fn reschedule(mut asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let handle = asked.captures.handle(&mut asked.query)?;
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let when = message::when(&mut fields)?;
    let missing = fields.missing("delay");
    fields.finish()?;
    let when = when.ok_or_else(|| missing.with_hint("say when: `delay`, `deliver_at` or `delay_level`"))?;
    Ok(match asked.door.broker.reschedule(topic, handle, when).await? {
        RescheduleOutcome::Rescheduled { deliver_at } => {
            answer::json(StatusCode::OK, &Outcome { outcome: "rescheduled", deliver_at: Some(At(deliver_at)) })
        }
        RescheduleOutcome::TooLate => outcome(StatusCode::CONFLICT, "too_late"),
        RescheduleOutcome::NotFound => outcome(StatusCode::NOT_FOUND, "not_found"),
    })
}

/// `POST T/messages/{id}/deliver`, `POST T/keys/{key}/deliver`.
pub(super) async fn deliver_now(mut asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let handle = asked.captures.handle(&mut asked.query)?;
    asked.query.finish()?;
    Ok(match asked.door.broker.deliver_now(topic, handle).await? {
        DeliverNowOutcome::DeliveredNow => outcome(StatusCode::OK, "delivered_now"),
        DeliverNowOutcome::TooLate => outcome(StatusCode::CONFLICT, "too_late"),
        DeliverNowOutcome::NotFound => outcome(StatusCode::NOT_FOUND, "not_found"),
    })
}

/// `POST T/messages/{id}/commit`.
pub(super) async fn commit(asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    asked.query.finish()?;
    let outcome = asked.door.broker.commit(topic, asked.captures.id()).await?;
    Ok(settled(outcome, matches!(outcome, PreparedOutcome::Committed { .. })))
}

/// `POST T/messages/{id}/rollback`.
pub(super) async fn rollback(asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    asked.query.finish()?;
    let outcome = asked.door.broker.rollback(topic, asked.captures.id()).await?;
    Ok(settled(outcome, outcome == PreparedOutcome::RolledBack))
}

/// What became of a prepared message, and whether that is what was asked for.
fn settled(outcome: PreparedOutcome, as_asked: bool) -> Response<Body> {
    let (word, deliver_at) = match outcome {
        PreparedOutcome::Committed { deliver_at } => ("committed", Some(At(deliver_at))),
        PreparedOutcome::RolledBack => ("rolled_back", None),
        PreparedOutcome::NotFound => return super::outcome(StatusCode::NOT_FOUND, "not_found"),
    };
    let status = if as_asked { StatusCode::OK } else { StatusCode::CONFLICT };
    answer::json(status, &Outcome { outcome: word, deliver_at })
}

/// `GET T/messages`: a page of what is scheduled.
pub(super) async fn list(mut asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let query = &mut asked.query;
    scheduled_only(query)?;
    let request = ListRequest {
        topic,
        range: range(query)?,
        key_prefix: query.optional("key_prefix", read::text)?,
        limit: query.optional("limit", read::whole)?.unwrap_or(PAGE_DEFAULT),
        cursor: query.optional("cursor", read::text)?,
        with_body: query.optional("body", read::flag)?.unwrap_or(true),
    };
    asked.query.finish()?;
    let page = asked.door.broker.list(request).await?;
    let messages: Vec<_> = page.items.iter().map(ViewAnswer::of).collect();
    Ok(answer::json(StatusCode::OK, &PageAnswer::of("messages", messages, page.next_cursor.as_deref())))
}

/// `DELETE T/messages`: cancels a range, which must be named so that nothing is lost by omission.
pub(super) async fn cancel_range(mut asked: Asked) -> Answer {
    #[derive(Serialize)]
    struct Cancelled {
        cancelled: u64,
    }

    let topic = asked.captures.topic()?;
    let query = &mut asked.query;
    scheduled_only(query)?;
    let range = range(query)?;
    let all = query.optional("all", read::flag)?.unwrap_or(false);
    let bounded = range.from.is_some() || range.to.is_some();
    if all && bounded {
        return Err(query.exclusive(&["from or to", "all"]).with_field("all"));
    }
    // One end alone would empty a topic when the other is forgotten.
    if !all && (range.from.is_none() || range.to.is_none()) {
        let missing = if range.from.is_none() { "from" } else { "to" };
        return Err(query.missing(missing).with_hint("give `from` and `to`, or `all=true` to cancel every one"));
    }
    asked.query.finish()?;
    let cancelled = asked.door.broker.cancel_range(topic, range).await?;
    Ok(answer::json(StatusCode::OK, &Cancelled { cancelled }))
}

/// `GET T/timeline`: counts of what comes due.
pub(super) async fn timeline(mut asked: Asked) -> Answer {
    #[derive(Serialize)]
    struct Timeline {
        buckets: Vec<Bucket>,
    }

    let topic = asked.captures.topic()?;
    let range = range(&mut asked.query)?;
    let bucket: DelayMs = asked.query.optional("bucket", read::duration)?.unwrap_or(TIMELINE_BUCKET_MIN);
    asked.query.finish()?;
    let buckets = asked.door.broker.timeline(TimelineRequest { topic, range, bucket }).await?;
    Ok(answer::json(StatusCode::OK, &Timeline { buckets: buckets.iter().map(Bucket::of).collect() }))
}

/// `from` and `to` of a query or a request.
pub(super) fn range(query: &mut Fields<'_>) -> Result<TimeRange, Error> {
    Ok(TimeRange { from: query.optional("from", read::time)?, to: query.optional("to", read::time)? })
}

/// `state`, of which one value has a meaning so far.
fn scheduled_only(query: &mut Fields<'_>) -> Result<(), Error> {
    match query.optional("state", read::text)?.as_deref() {
        None | Some("scheduled") => Ok(()),
        Some(other) => {
            let problem = format!("cannot take `state`: \"{}\" is not `scheduled`", read::cut(other));
            Err(Error::new(Code::InvalidField, problem).with_field("state"))
        }
    }
}
