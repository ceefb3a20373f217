//! A message as it is looked at and as it is delivered.

use std::sync::Arc;

use punctual_broker_api::{
    DeadLetterHistory, DeadLetterReason, Delivery, Error, MessageId, MessageState, MessageView, Receipt,
    SubscriptionMessageState, SubscriptionProgress,
};

use super::{
    delay_from_optional, delay_into, ms_into,
    publish::{headers_from, headers_into},
    time_from, time_from_optional, time_into, unreadable,
};
use crate::v1;

fn priority_from(priority: u32) -> Result<u8, Error> {
    u8::try_from(priority).map_err(|_| unreadable(&format!("priority {priority}")))
}

fn ms_from(what: &str, ms: i64) -> Result<u64, Error> {
    u64::try_from(ms).map_err(|_| unreadable(&format!("{what} {ms}")))
}

/// A view for the wire.
#[must_use]
pub fn view_into(view: MessageView) -> v1::MessageView {
    let state = match view.state {
        MessageState::Prepared => v1::MessageState::Prepared,
        MessageState::Scheduled => v1::MessageState::Scheduled,
        MessageState::Ready => v1::MessageState::Ready,
        MessageState::Settled => v1::MessageState::Settled,
    };
    v1::MessageView {
        id: view.id.as_str().to_owned(),
        state: state.into(),
        body: view.body,
        key: view.key,
        dedup_id: view.dedup_id,
        ordering_key: view.ordering_key,
        tag: view.tag,
        headers: headers_into(view.headers),
        priority: view.priority.into(),
        expires_after_ms: view.expires_after.map(delay_into),
        published_at_unix_ms: time_into(view.published_at),
        deliver_at_unix_ms: time_into(view.deliver_at),
        subscriptions: view.subscriptions.into_iter().map(progress_into).collect(),
        dead_letter: view.dead_letter.map(|history| dead_letter_into(*history)),
    }
}

fn progress_into(progress: SubscriptionProgress) -> v1::SubscriptionProgress {
    let state = match progress.state {
        SubscriptionMessageState::Ready => v1::SubscriptionMessageState::Ready,
        SubscriptionMessageState::Leased => v1::SubscriptionMessageState::Leased,
        SubscriptionMessageState::Retrying => v1::SubscriptionMessageState::Retrying,
        SubscriptionMessageState::Dead => v1::SubscriptionMessageState::Dead,
        SubscriptionMessageState::Settled => v1::SubscriptionMessageState::Settled,
    };
    v1::SubscriptionProgress {
        subscription: progress.subscription,
        state: state.into(),
        attempts: progress.attempts,
        lease_expires_at_unix_ms: progress.lease_expires_at.map(time_into),
        retry_at_unix_ms: progress.retry_at.map(time_into),
    }
}

/// A view.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn view_from(view: v1::MessageView) -> Result<MessageView, Error> {
    let state = match v1::MessageState::try_from(view.state) {
        Ok(v1::MessageState::Prepared) => MessageState::Prepared,
        Ok(v1::MessageState::Scheduled) => MessageState::Scheduled,
        Ok(v1::MessageState::Ready) => MessageState::Ready,
        Ok(v1::MessageState::Settled) => MessageState::Settled,
        Ok(v1::MessageState::Unspecified) | Err(_) => {
            return Err(unreadable(&format!("message state {}", view.state)));
        }
    };
    Ok(MessageView {
        id: MessageId::new(&view.id),
        state,
        body: view.body,
        key: view.key,
        dedup_id: view.dedup_id,
        ordering_key: view.ordering_key,
        tag: view.tag,
        headers: headers_from(view.headers),
        priority: priority_from(view.priority)?,
        expires_after: delay_from_optional("expires_after", view.expires_after_ms)?,
        published_at: time_from("published_at", view.published_at_unix_ms)?,
        deliver_at: time_from("deliver_at", view.deliver_at_unix_ms)?,
        subscriptions: view.subscriptions.into_iter().map(progress_from).collect::<Result<_, _>>()?,
        dead_letter: view.dead_letter.map(dead_letter_from).transpose()?.map(Box::new),
    })
}

fn progress_from(progress: v1::SubscriptionProgress) -> Result<SubscriptionProgress, Error> {
    let state = match v1::SubscriptionMessageState::try_from(progress.state) {
        Ok(v1::SubscriptionMessageState::Ready) => SubscriptionMessageState::Ready,
        Ok(v1::SubscriptionMessageState::Leased) => SubscriptionMessageState::Leased,
        Ok(v1::SubscriptionMessageState::Retrying) => SubscriptionMessageState::Retrying,
        Ok(v1::SubscriptionMessageState::Dead) => SubscriptionMessageState::Dead,
        Ok(v1::SubscriptionMessageState::Settled) => SubscriptionMessageState::Settled,
        Ok(v1::SubscriptionMessageState::Unspecified) | Err(_) => {
            return Err(unreadable(&format!("subscription state {}", progress.state)));
        }
    };
    Ok(SubscriptionProgress {
        subscription: progress.subscription,
        state,
        attempts: progress.attempts,
        lease_expires_at: time_from_optional("lease_expires_at", progress.lease_expires_at_unix_ms)?,
        retry_at: time_from_optional("retry_at", progress.retry_at_unix_ms)?,
    })
}

/// A delivery for the wire.
#[must_use]
pub fn delivery_into(delivery: Delivery) -> v1::Delivery {
    v1::Delivery {
        id: delivery.id.as_str().to_owned(),
        receipt: delivery.receipt.as_str().to_owned(),
        topic: delivery.topic.as_ref().to_owned(),
        body: delivery.body,
        key: delivery.key,
        ordering_key: delivery.ordering_key,
        tag: delivery.tag,
        headers: headers_into(delivery.headers),
        priority: delivery.priority.into(),
        attempt: delivery.attempt,
        published_at_unix_ms: time_into(delivery.published_at),
        deliver_at_unix_ms: time_into(delivery.deliver_at),
        delivered_at_unix_ms: time_into(delivery.delivered_at),
        lateness_ms: ms_into(delivery.lateness_ms),
        waited_ms: ms_into(delivery.waited_ms),
        lease_expires_at_unix_ms: time_into(delivery.lease_expires_at),
        dead_letter: delivery.dead_letter.map(|history| dead_letter_into(*history)),
    }
}

fn dead_letter_into(history: DeadLetterHistory) -> v1::DeadLetter {
    let reason = match history.reason {
        DeadLetterReason::AttemptsExhausted => v1::DeadLetterReason::AttemptsExhausted,
        DeadLetterReason::Expired => v1::DeadLetterReason::Expired,
    };
    v1::DeadLetter {
        reason: reason.into(),
        topic: history.topic,
        subscription: history.subscription,
        attempts: history.attempts,
        first_delivered_at_unix_ms: history.first_delivered_at.map(time_into),
        last_error: history.last_error,
    }
}

/// Deliveries. Those of one topic, which are nearly all, share its name.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn deliveries_from(deliveries: Vec<v1::Delivery>) -> Result<Vec<Delivery>, Error> {
    let mut topic: Arc<str> = Arc::from("");
    let convert = |delivery: v1::Delivery| {
        if *topic != *delivery.topic {
            topic = Arc::from(delivery.topic.as_str());
        }
        delivery_from(delivery, Arc::clone(&topic))
    };
    deliveries.into_iter().map(convert).collect()
}

fn delivery_from(delivery: v1::Delivery, topic: Arc<str>) -> Result<Delivery, Error> {
    Ok(Delivery {
        id: MessageId::new(&delivery.id),
        receipt: Receipt::new(&delivery.receipt),
        topic,
        body: delivery.body,
        key: delivery.key,
        ordering_key: delivery.ordering_key,
        tag: delivery.tag,
        headers: headers_from(delivery.headers),
        priority: priority_from(delivery.priority)?,
        attempt: delivery.attempt,
        published_at: time_from("published_at", delivery.published_at_unix_ms)?,
        deliver_at: time_from("deliver_at", delivery.deliver_at_unix_ms)?,
        delivered_at: time_from("delivered_at", delivery.delivered_at_unix_ms)?,
        lateness_ms: ms_from("lateness", delivery.lateness_ms)?,
        waited_ms: ms_from("wait", delivery.waited_ms)?,
        lease_expires_at: time_from("lease_expires_at", delivery.lease_expires_at_unix_ms)?,
        dead_letter: delivery.dead_letter.map(dead_letter_from).transpose()?.map(Box::new),
    })
}

fn dead_letter_from(history: v1::DeadLetter) -> Result<DeadLetterHistory, Error> {
    let reason = match v1::DeadLetterReason::try_from(history.reason) {
        Ok(v1::DeadLetterReason::AttemptsExhausted) => DeadLetterReason::AttemptsExhausted,
        Ok(v1::DeadLetterReason::Expired) => DeadLetterReason::Expired,
        Ok(v1::DeadLetterReason::Unspecified) | Err(_) => {
            return Err(unreadable(&format!("dead-letter reason {}", history.reason)));
        }
    };
    Ok(DeadLetterHistory {
        reason,
        topic: history.topic,
        subscription: history.subscription,
        attempts: history.attempts,
        first_delivered_at: time_from_optional("first_delivered_at", history.first_delivered_at_unix_ms)?,
        last_error: history.last_error,
    })
}
