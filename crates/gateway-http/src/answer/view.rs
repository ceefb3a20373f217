//! A message, looked at: V of the contract.

use punctual_broker_api::{MessageView, SubscriptionProgress};
use serde::Serialize;

use super::{
    At,
    body::{BodyAnswer, HeadersAnswer},
    delivery::DeadLetterAnswer,
};

#[derive(Serialize)]
pub(crate) struct ViewAnswer<'v> {
    id: &'v str,
    state: &'static str,
    #[serde(flatten)]
    body: BodyAnswer<'v>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_id: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'v str>,
    headers: HeadersAnswer<'v>,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_after_ms: Option<u64>,
    published_at: At,
    deliver_at: At,
    subscriptions: Vec<ProgressAnswer<'v>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_letter: Option<DeadLetterAnswer<'v>>,
}

#[derive(Serialize)]
struct ProgressAnswer<'v> {
    subscription: &'v str,
    state: &'static str,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_expires_at: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<At>,
}

impl<'v> ViewAnswer<'v> {
    pub(crate) fn of(view: &'v MessageView) -> Self {
        let progress = |progress: &'v SubscriptionProgress| ProgressAnswer {
            subscription: &progress.subscription,
            state: progress.state.as_str(),
            attempts: progress.attempts,
            lease_expires_at: progress.lease_expires_at.map(At),
            retry_at: progress.retry_at.map(At),
        };
        Self {
            id: view.id.as_str(),
            state: view.state.as_str(),
            body: view.body.as_ref().map_or(BodyAnswer::left_out(), |bytes| BodyAnswer::of(bytes)),
            key: view.key.as_deref(),
            dedup_id: view.dedup_id.as_deref(),
            ordering_key: view.ordering_key.as_deref(),
            tag: view.tag.as_deref(),
            headers: HeadersAnswer(&view.headers),
            priority: view.priority,
            expires_after_ms: view.expires_after.map(punctual_broker_api::DelayMs::ms),
            published_at: At(view.published_at),
            deliver_at: At(view.deliver_at),
            subscriptions: view.subscriptions.iter().map(progress).collect(),
            dead_letter: view.dead_letter.as_deref().map(DeadLetterAnswer::of),
        }
    }
}
