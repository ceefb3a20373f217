//! A subscription's own messages: looking at them, and giving its dead letters back to it.

use punctual_broker_api::{
    Error, MessageId, PageRequest, RedriveRequest, SubscriptionListRequest, SubscriptionListState,
};

use super::{invalid_field, page_from, range_from, subscription_from};
use crate::v1;

/// Which of a subscription's messages are asked for.
///
/// # Errors
/// `invalid_field` for a state that is no list, and `invalid_name`.
pub fn subscription_list_from(request: v1::ListSubscriptionMessagesRequest) -> Result<SubscriptionListRequest, Error> {
    use v1::SubscriptionMessageState as Wire;
    let state = match Wire::try_from(request.state) {
        Ok(Wire::Unspecified | Wire::Ready) => SubscriptionListState::Ready,
        Ok(Wire::Leased) => SubscriptionListState::Leased,
        Ok(Wire::Retrying) => SubscriptionListState::Retrying,
        Ok(Wire::Dead) => SubscriptionListState::Dead,
        Ok(Wire::Settled) | Err(_) => {
            return Err(invalid_field("state", format!("cannot list messages of state {}", request.state)));
        }
    };
    let PageRequest { limit, cursor } = page_from(request.limit, request.cursor);
    Ok(SubscriptionListRequest {
        subscription: subscription_from(&request.namespace, &request.topic, &request.subscription)?,
        state,
        limit,
        cursor,
        with_body: request.body.unwrap_or(true),
    })
}

/// The state of a list, for the wire.
#[must_use]
pub fn list_state_into(state: SubscriptionListState) -> i32 {
    let wire = match state {
        SubscriptionListState::Ready => v1::SubscriptionMessageState::Ready,
        SubscriptionListState::Leased => v1::SubscriptionMessageState::Leased,
        SubscriptionListState::Retrying => v1::SubscriptionMessageState::Retrying,
        SubscriptionListState::Dead => v1::SubscriptionMessageState::Dead,
    };
    wire.into()
}

/// Which dead letters are to go back.
///
/// # Errors
/// `invalid_time`.
pub fn redrive_from(
    max: Option<u64>,
    ids: Option<v1::MessageIds>,
    from_unix_ms: Option<i64>,
    to_unix_ms: Option<i64>,
) -> Result<RedriveRequest, Error> {
    let ids = ids.map(|ids| ids.ids.iter().map(|id| MessageId::new(id)).collect());
    Ok(RedriveRequest { max, ids, range: range_from(from_unix_ms, to_unix_ms)? })
}

/// Ids for the wire.
#[must_use]
pub fn ids_into(ids: &[MessageId]) -> v1::MessageIds {
    v1::MessageIds { ids: ids.iter().map(|id| id.as_str().to_owned()).collect() }
}
