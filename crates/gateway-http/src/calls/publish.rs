//! Publishing one message, or a batch of them.

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use punctual_broker_api::{Broker, Code, Error, Published, TopicPath};

use super::Answer;
use crate::{
    answer::{self, PublishedAnswer},
    batch::{self, Messages},
    door::Asked,
    message,
};

/// `POST T/publish`: the request body is the message body.
pub(super) async fn one(mut asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let message = message::of_query(asked.query, std::mem::take(&mut asked.body))?;
    let results = asked.door.broker.publish(topic, vec![message]).await?;
    let published = results.into_iter().next().ok_or_else(no_result)??;
    Ok(answer::json(StatusCode::OK, &PublishedAnswer::of(&published)))
}

/// `POST T/messages`: a batch.
pub(super) async fn batch(asked: Asked) -> Answer {
    asked.query.finish()?;
    let topic = asked.captures.topic()?;
    let messages = batch::parse(&asked.body, asked.door.broker.limits().batch_messages_max)?;
    let results = publish(&*asked.door.broker, topic, messages).await?;
    let mut text = Vec::with_capacity(64 + 96 * results.len());
    text.extend_from_slice(b"{\"results\":[");
    for (at, result) in results.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        answer::write_result(&mut text, result, &asked.request_id);
    }
    text.extend_from_slice(b"]}\n");
    let response: Response<Body> = answer::with_type(StatusCode::OK, "application/json", Body::from(text));
    Ok(response)
}

/// Publishes what could be read; what could not keeps its place among the results.
pub(super) async fn publish(
    broker: &dyn Broker,
    topic: TopicPath,
    messages: Messages,
) -> Result<Vec<Result<Published, Error>>, Error> {
    let mut sound = Vec::with_capacity(messages.len());
    let places: Vec<Result<(), Error>> =
        messages.into_iter().map(|message| message.map(|message| sound.push(message))).collect();
    if sound.is_empty() {
        // Nothing to store; an empty batch does not even make the topic.
        return Ok(places.into_iter().filter_map(|place| place.err().map(Err)).collect());
    }
    let asked = sound.len();
    let mut published = broker.publish(topic, sound).await?.into_iter();
    assert!(published.len() == asked, "the broker answered {} results to {asked} messages", published.len());
    Ok(places
        .into_iter()
        .map(|place| place.and_then(|()| published.next().unwrap_or_else(|| Err(no_result()))))
        .collect())
}

fn no_result() -> Error {
    Error::new(Code::Internal, "the broker answered fewer results than there were messages")
}
