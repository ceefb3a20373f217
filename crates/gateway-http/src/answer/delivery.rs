//! A leased message: D of the contract.

use punctual_broker_api::{DeadLetterHistory, Delivery};
use serde::Serialize;

use super::{
    At,
    body::{BodyAnswer, HeadersAnswer},
};

#[derive(Serialize)]
pub(crate) struct DeliveryAnswer<'d> {
    id: &'d str,
    receipt: &'d str,
    topic: &'d str,
    #[serde(flatten)]
    body: BodyAnswer<'d>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'d str>,
    headers: HeadersAnswer<'d>,
    priority: u8,
    attempt: u32,
    published_at: At,
    deliver_at: At,
    delivered_at: At,
    lateness_ms: u64,
    waited_ms: u64,
    lease_expires_at: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter: Option<DeadLetterAnswer<'d>>,
}

#[derive(Serialize)]
pub(super) struct DeadLetterAnswer<'d> {
    reason: &'static str,
    topic: &'d str,
    subscription: &'d str,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_delivered_at: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<&'d str>,
}

impl<'d> DeliveryAnswer<'d> {
    pub(crate) fn of(delivery: &'d Delivery) -> Self {
        Self {
            id: delivery.id.as_str(),
            receipt: delivery.receipt.as_str(),
            topic: &delivery.topic,
            body: BodyAnswer::of(&delivery.body),
            key: delivery.key.as_deref(),
            ordering_key: delivery.ordering_key.as_deref(),
            tag: delivery.tag.as_deref(),
            headers: HeadersAnswer(&delivery.headers),
            priority: delivery.priority,
            attempt: delivery.attempt,
            published_at: At(delivery.published_at),
            deliver_at: At(delivery.deliver_at),
            delivered_at: At(delivery.delivered_at),
            lateness_ms: delivery.lateness_ms,
            waited_ms: delivery.waited_ms,
            lease_expires_at: At(delivery.lease_expires_at),
            dead_letter: delivery.dead_letter.as_deref().map(DeadLetterAnswer::of),
        }
    }
}

impl<'d> DeadLetterAnswer<'d> {
    pub(super) fn of(history: &'d DeadLetterHistory) -> Self {
        Self {
            reason: history.reason.as_str(),
            topic: &history.topic,
            subscription: &history.subscription,
            attempts: history.attempts,
            first_delivered_at: history.first_delivered_at.map(At),
            last_error: history.last_error.as_deref(),
        }
    }
}
