//! Publishing: one request, and a stream of them.

use futures_util::{StreamExt, stream::FuturesOrdered};
use punctual_broker_api::{BoxFuture, Code, Error, Published};
use punctual_proto::{
    convert,
    status::{self, to_status},
    v1::{PublishReply, PublishRequest, PublishResult},
};
use tokio::sync::mpsc::Sender;
use tonic::{Status, Streaming};

use crate::{
    context::Context,
    fault,
    limits::{PUBLISH_BYTES_IN_FLIGHT_MAX, PUBLISHES_IN_FLIGHT_MAX},
};

/// Publishes one request. A fault of a message fails that message alone.
pub(crate) async fn publish(context: &Context, request: PublishRequest) -> Result<Vec<PublishResult>, Error> {
    let topic = convert::topic_from(&request.namespace, &request.topic)?;
    let messages_max = context.broker.limits().batch_messages_max;
    if request.messages.is_empty() {
        return Err(convert::missing("messages", "the request holds no messages"));
    }
    if request.messages.len() > messages_max {
        let message =
            format!("cannot publish {} messages in one batch: the limit is {messages_max}", request.messages.len());
        return Err(Error::new(Code::BatchTooLarge, message).with_field("messages"));
    }
    let mut good = Vec::with_capacity(request.messages.len());
    // What is wrong with which message; nearly always nothing.
    let mut bad: Vec<(usize, Error)> = Vec::new();
    for (place, message) in request.messages.into_iter().enumerate() {
        match convert::new_message_from(message) {
            Ok(message) => good.push(message),
            Err(error) => bad.push((place, error)),
        }
    }
    let published = if good.is_empty() { Vec::new() } else { context.broker.publish(topic, good).await? };
    Ok(merge(published, bad))
}

/// Puts the results of the good messages and the errors of the bad ones back into one order.
fn merge(published: Vec<Result<Published, Error>>, bad: Vec<(usize, Error)>) -> Vec<PublishResult> {
    let mut results = Vec::with_capacity(published.len() + bad.len());
    let mut published = published.into_iter().map(convert::published_into);
    for (place, error) in bad {
        results.extend(published.by_ref().take(place - results.len()));
        results.push(convert::published_into(Err(error)));
    }
    results.extend(published);
    results
}

/// Bytes of the bodies of a request, and a round figure for the rest of every message: what it
/// holds in memory while it is in flight.
fn weight(request: &PublishRequest) -> usize {
    const MESSAGE_BYTES: usize = 256;
    request.messages.iter().map(|message| message.body.len() + MESSAGE_BYTES).sum()
}

type InFlight = FuturesOrdered<BoxFuture<'static, (PublishReply, usize)>>;

/// Publishes a stream of requests, many in flight, and replies in their order. A fault of a request
/// is told in its reply; the stream ends when the client half-closes it, when it breaks, and when
/// the door stops, each time after what was read before has been answered.
pub(crate) async fn publish_stream(
    context: Context,
    mut requests: Streaming<PublishRequest>,
    replies: Sender<Result<PublishReply, Status>>,
) {
    let mut in_flight = InFlight::new();
    let mut bytes_in_flight = 0;
    let mut last_word = None;
    let mut open = true;
    while open || !in_flight.is_empty() {
        let has_room = in_flight.len() < PUBLISHES_IN_FLIGHT_MAX && bytes_in_flight < PUBLISH_BYTES_IN_FLIGHT_MAX;
        tokio::select! {
            request = requests.message(), if open && has_room => match request {
                Ok(Some(request)) => {
                    let bytes = weight(&request);
                    bytes_in_flight += bytes;
                    let context = context.clone();
                    in_flight.push_back(Box::pin(async move { (reply_to(&context, request).await, bytes) }));
                }
                Ok(None) => open = false,
                Err(status) => {
                    last_word = Some(fault::detailed(status));
                    open = false;
                }
            },
            Some((reply, bytes)) = in_flight.next() => {
                bytes_in_flight -= bytes;
                // Waits when the client does not read: it is asked for nothing more meanwhile.
                if replies.send(Ok(reply)).await.is_err() {
                    return;
                }
            }
            () = context.stopped(), if open => {
                last_word = Some(to_status(&fault::shutting_down()));
                open = false;
            }
        }
    }
    if let Some(status) = last_word {
        let _ = replies.send(Err(status)).await;
    }
}

async fn reply_to(context: &Context, request: PublishRequest) -> PublishReply {
    let request_id = request.request_id;
    let (results, error) = match publish(context, request).await {
        Ok(results) => (results, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    context.metrics.answered("Broker/PublishStream", error.as_ref().map_or("ok", |error| error.code.slug()));
    PublishReply { request_id, results, error: error.map(status::to_proto) }
}

#[cfg(test)]
mod tests {
    use punctual_broker_api::{MessageId, PublishStatus, Time};

    use super::*;

    #[test]
    fn errors_of_bad_messages_stand_at_their_places() {
        let ok = |id: &str| {
            let id = MessageId::new(id);
            Ok(Published { id, deliver_at: Time::ZERO, status: PublishStatus::Accepted })
        };
        let bad = |place: usize| (place, Error::new(Code::InvalidField, place.to_string()));
        for (published, places, expected) in [
            (vec!["a", "b"], vec![], "a b"),
            (vec!["a", "b"], vec![0], "!0 a b"),
            (vec!["a", "b"], vec![1, 3], "a !1 b !3"),
            (vec![], vec![0, 1], "!0 !1"),
        ] {
            let results = merge(published.into_iter().map(ok).collect(), places.into_iter().map(bad).collect());
            let show = |result: &PublishResult| match &result.error {
                Some(error) => format!("!{}", error.message),
                None => result.id.clone(),
            };
            assert_eq!(results.iter().map(show).collect::<Vec<_>>().join(" "), expected);
        }
    }
}
