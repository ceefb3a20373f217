//! Objects as the HTTP door prints them: the names and forms of the API's documentation, so that
//! a script can change from `curl` to this command and back.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use punctual_broker_api::{
    Breaker, BreakerState, ClockView, DeadLetterHistory, DelayMs, Delivery, Error, MessageId, MessageView,
    NamespaceView, NewMessage, OnConflict, PublishStatus, Published, ScheduleRun, ScheduleView, SubscriptionStats,
    SubscriptionView, Time, TimelineBucket, TopicStats, TopicView, time_text::format_time,
};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn put_some<T: Into<Value>>(into: &mut Object, name: &str, value: Option<T>) {
    if let Some(value) = value {
        into.insert(name.to_owned(), value.into());
    }
}

fn time(time: Time) -> Value {
    Value::String(format_time(time))
}

fn put_body(into: &mut Object, body: &[u8]) {
    match std::str::from_utf8(body) {
        Ok(text) => into.insert("body".to_owned(), text.into()),
        Err(_) => into.insert("body_base64".to_owned(), BASE64.encode(body).into()),
    };
}

fn headers(headers: &[(String, String)]) -> Value {
    Value::Object(headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect())
}

/// E of the API.
pub(crate) fn error(error: &Error) -> Value {
    let mut into = object(json!({"code": error.code.slug(), "kind": error.kind().as_str()}));
    put_some(&mut into, "field", error.field.clone());
    into.insert("message".to_owned(), error.message.clone().into());
    put_some(&mut into, "hint", error.hint.clone());
    into.insert("doc_url".to_owned(), error.doc_url().into());
    put_some(&mut into, "retry_after_ms", error.retry_after_ms);
    Value::Object(into)
}

/// The word for a status.
pub(crate) fn status(status: &PublishStatus) -> &'static str {
    match status {
        PublishStatus::Accepted => "accepted",
        PublishStatus::Duplicate => "duplicate",
        PublishStatus::Replaced { .. } => "replaced",
        PublishStatus::Kept => "kept",
        PublishStatus::Prepared => "prepared",
    }
}

/// R of the API.
pub(crate) fn published(published: &Published) -> Value {
    let mut into = object(json!({
        "id": published.id.as_str(), "deliver_at": time(published.deliver_at), "status": status(&published.status),
    }));
    match &published.status {
        PublishStatus::Replaced { replaced_id } => {
            into.insert("replaced_id".to_owned(), replaced_id.as_str().into());
        }
        PublishStatus::Accepted | PublishStatus::Duplicate | PublishStatus::Kept | PublishStatus::Prepared => {}
    }
    Value::Object(into)
}

/// V of the API.
pub(crate) fn view(view: &MessageView) -> Value {
    let mut into = object(json!({"id": view.id.as_str(), "state": view.state.as_str()}));
    if let Some(body) = &view.body {
        put_body(&mut into, body);
    }
    put_some(&mut into, "key", view.key.clone());
    put_some(&mut into, "dedup_id", view.dedup_id.clone());
    put_some(&mut into, "ordering_key", view.ordering_key.clone());
    put_some(&mut into, "tag", view.tag.clone());
    into.insert("headers".to_owned(), headers(&view.headers));
    into.insert("priority".to_owned(), view.priority.into());
    put_some(&mut into, "expires_after_ms", view.expires_after.map(DelayMs::ms));
    into.insert("published_at".to_owned(), time(view.published_at));
    into.insert("deliver_at".to_owned(), time(view.deliver_at));
    let subscriptions = view.subscriptions.iter().map(|progress| {
        let mut into = object(json!({
            "subscription": progress.subscription, "state": progress.state.as_str(), "attempts": progress.attempts,
        }));
        put_some(&mut into, "lease_expires_at", progress.lease_expires_at.map(format_time));
        put_some(&mut into, "retry_at", progress.retry_at.map(format_time));
        Value::Object(into)
    });
    into.insert("subscriptions".to_owned(), subscriptions.collect());
    put_some(&mut into, "dead_letter", view.dead_letter.as_deref().map(dead_letter));
    Value::Object(into)
}

/// D of the API.
pub(crate) fn delivery(delivery: &Delivery) -> Value {
    let mut into = object(json!({
        "id": delivery.id.as_str(), "receipt": delivery.receipt.as_str(), "topic": &*delivery.topic,
    }));
    put_body(&mut into, &delivery.body);
    put_some(&mut into, "key", delivery.key.clone());
    put_some(&mut into, "ordering_key", delivery.ordering_key.clone());
    put_some(&mut into, "tag", delivery.tag.clone());
    into.insert("headers".to_owned(), headers(&delivery.headers));
    into.insert("priority".to_owned(), delivery.priority.into());
    into.insert("attempt".to_owned(), delivery.attempt.into());
    into.insert("published_at".to_owned(), time(delivery.published_at));
    into.insert("deliver_at".to_owned(), time(delivery.deliver_at));
    into.insert("delivered_at".to_owned(), time(delivery.delivered_at));
    into.insert("lateness_ms".to_owned(), delivery.lateness_ms.into());
    into.insert("waited_ms".to_owned(), delivery.waited_ms.into());
    into.insert("lease_expires_at".to_owned(), time(delivery.lease_expires_at));
    put_some(&mut into, "dead_letter", delivery.dead_letter.as_deref().map(dead_letter));
    Value::Object(into)
}

fn dead_letter(history: &DeadLetterHistory) -> Value {
    json!({
        "reason": history.reason.as_str(), "topic": history.topic, "subscription": history.subscription,
        "attempts": history.attempts, "first_delivered_at": history.first_delivered_at.map(format_time),
        "last_error": history.last_error,
    })
}

/// A bucket of a timeline.
pub(crate) fn bucket(bucket: &TimelineBucket) -> Value {
    json!({"from": time(bucket.from), "count": bucket.count})
}

/// A topic.
pub(crate) fn topic(view: &TopicView) -> Value {
    let settings = &view.settings;
    json!({
        "name": view.name,
        "partitions": settings.partitions,
        "priorities": settings.priorities,
        "durability": settings.durability.as_str(),
        "retention_ms": settings.retention.map(DelayMs::ms),
        "keep_acked_ms": settings.keep_acked.ms(),
        "on_expiry": settings.on_expiry.as_str(),
        "dedup_window_ms": settings.dedup_window.ms(),
        "stats": topic_stats(&view.stats),
    })
}

fn topic_stats(stats: &TopicStats) -> Value {
    json!({
        "scheduled": stats.scheduled, "prepared": stats.prepared, "ready": stats.ready, "leased": stats.leased,
        "retrying": stats.retrying, "dead": stats.dead, "published_total": stats.published_total,
        "delivered_total": stats.delivered_total, "acked_total": stats.acked_total,
        "cancelled_total": stats.cancelled_total, "expired_total": stats.expired_total,
        "oldest_ready_age_ms": stats.oldest_ready_age_ms, "next_due_at": stats.next_due_at.map(format_time),
    })
}

/// A subscription.
pub(crate) fn subscription(view: &SubscriptionView) -> Value {
    let settings = &view.settings;
    json!({
        "name": view.name,
        "paused": view.paused,
        "start": settings.start.to_string(),
        "lease_ms": settings.lease.ms(),
        "retry": {
            "max_attempts": settings.retry.max_attempts,
            "initial_ms": settings.retry.initial.ms(),
            "multiplier": settings.retry.multiplier,
            "max_ms": settings.retry.max.ms(),
            "jitter": settings.retry.jitter,
        },
        "dead_letter_topic": settings.dead_letter_topic,
        "max_in_flight": settings.max_in_flight,
        "ordered": settings.ordered,
        "filter": settings.filter,
        "max_rate": settings.max_rate,
        "breaker": settings.breaker.map(breaker),
        "stats": subscription_stats(&view.stats),
    })
}

fn breaker(breaker: Breaker) -> Value {
    json!({"failures": breaker.failures, "window_ms": breaker.window.ms(), "pause_ms": breaker.pause.ms()})
}

fn subscription_stats(stats: &SubscriptionStats) -> Value {
    json!({
        "ready": stats.ready, "leased": stats.leased, "retrying": stats.retrying, "dead": stats.dead,
        "delivered_total": stats.delivered_total, "acked_total": stats.acked_total,
        "failed_total": stats.failed_total, "filtered_total": stats.filtered_total,
        "expired_total": stats.expired_total, "oldest_ready_age_ms": stats.oldest_ready_age_ms,
        "breaker": stats.breaker.map(BreakerState::as_str),
    })
}

/// A namespace.
pub(crate) fn namespace(view: &NamespaceView) -> Value {
    let settings = &view.settings;
    let levels: Vec<u64> = settings.delay_levels.iter().map(|level| level.ms()).collect();
    json!({
        "name": view.name,
        "max_delay_ms": settings.max_delay.map(DelayMs::ms),
        "delay_levels_ms": levels,
        "auto_create": settings.auto_create,
        "limits": {
            "max_scheduled": settings.limits.max_scheduled,
            "max_ready": settings.limits.max_ready,
            "max_bytes": settings.limits.max_bytes,
            "publish_per_second": settings.limits.publish_per_second,
        },
        "topics": view.topics,
    })
}

/// A recurring schedule.
pub(crate) fn schedule(view: &ScheduleView) -> Value {
    let settings = &view.settings;
    let next: Vec<Value> = view.next.iter().copied().map(time).collect();
    json!({
        "name": view.name,
        "topic": settings.topic.as_str(),
        "message": schedule_message(&settings.message),
        "cron": settings.cron,
        "timezone": settings.timezone,
        "every_ms": settings.every.map(DelayMs::ms),
        "start": settings.start.map(format_time),
        "end": settings.end.map(format_time),
        "max_runs": settings.max_runs,
        "jitter_ms": settings.jitter.ms(),
        "catch_up": settings.catch_up.as_str(),
        "paused": settings.paused,
        "runs": view.runs,
        "next": next,
        "last": view.last.as_ref().map(schedule_run),
    })
}

fn schedule_message(message: &NewMessage) -> Value {
    let mut into = Object::new();
    put_body(&mut into, &message.body);
    put_some(&mut into, "key", message.key.clone());
    match message.on_conflict {
        OnConflict::Reject => {}
        OnConflict::Replace => put_some(&mut into, "on_conflict", Some("replace")),
        OnConflict::Keep => put_some(&mut into, "on_conflict", Some("keep")),
    }
    put_some(&mut into, "ordering_key", message.ordering_key.clone());
    put_some(&mut into, "tag", message.tag.clone());
    into.insert("headers".to_owned(), headers(&message.headers));
    into.insert("priority".to_owned(), message.priority.into());
    put_some(&mut into, "expires_after_ms", message.expires_after.map(DelayMs::ms));
    Value::Object(into)
}

fn schedule_run(run: &ScheduleRun) -> Value {
    let mut into = object(json!({
        "nominal_time": time(run.nominal_time), "published_at": run.published_at.map(format_time),
    }));
    put_some(&mut into, "id", run.id.as_ref().map(MessageId::as_str));
    put_some(&mut into, "error", run.error.as_ref().map(error));
    Value::Object(into)
}

/// The clock.
pub(crate) fn clock(view: &ClockView) -> Value {
    json!({
        "now": time(view.now), "wall": time(view.wall), "step_ms": view.step_ms, "mode": view.mode.as_str(),
        "held": view.held,
    })
}
