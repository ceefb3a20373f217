//! Subscriptions.

use axum::http::StatusCode;
use punctual_broker_api::{Error, SeekTo};

use super::{Answer, outcome, page};
use crate::{
    answer::{self, PageAnswer, SubscriptionAnswer},
    door::Asked,
    json::{
        Fields, Json,
        read::{self, Place},
    },
    settings,
};

pub(super) async fn list(asked: Asked) -> Answer {
    let topic = asked.captures.topic()?;
    let page = asked.door.broker.list_subscriptions(topic, page(asked.query)?).await?;
    let subscriptions: Vec<_> = page.items.iter().map(SubscriptionAnswer::of).collect();
    Ok(answer::json(StatusCode::OK, &PageAnswer::of("subscriptions", subscriptions, page.next_cursor.as_deref())))
}

pub(super) async fn get(asked: Asked) -> Answer {
    asked.query.finish()?;
    let view = asked.door.broker.get_subscription(asked.captures.subscription()?).await?;
    Ok(answer::json(StatusCode::OK, &SubscriptionAnswer::of(&view)))
}

pub(super) async fn put(asked: Asked) -> Answer {
    asked.query.finish()?;
    let subscription = asked.captures.subscription()?;
    let patch = settings::subscription(&asked.body)?;
    let put = asked.door.broker.put_subscription(subscription, patch).await?;
    Ok(answer::json(super::put_status(put.created), &SubscriptionAnswer::of(&put.object)))
}

pub(super) async fn delete(asked: Asked) -> Answer {
    asked.query.finish()?;
    asked.door.broker.delete_subscription(asked.captures.subscription()?).await?;
    Ok(outcome(StatusCode::OK, "deleted"))
}

/// `POST S/pause` and `S/resume`.
pub(super) async fn set_paused(asked: Asked, paused: bool) -> Answer {
    asked.query.finish()?;
    asked.door.broker.set_paused(asked.captures.subscription()?, paused).await?;
    Ok(outcome(StatusCode::OK, if paused { "paused" } else { "resumed" }))
}

/// `POST S/seek`.
pub(super) async fn seek(asked: Asked) -> Answer {
    asked.query.finish()?;
    let subscription = asked.captures.subscription()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let to = fields.required("to", seek_to)?;
    fields.finish()?;
    asked.door.broker.seek(subscription, to).await?;
    Ok(outcome(StatusCode::OK, "moved"))
}

fn seek_to(place: Place<'_>, value: Json<'_>) -> Result<SeekTo, Error> {
    match &value {
        Json::Text(text) if text == "earliest" => Ok(SeekTo::Earliest),
        Json::Text(text) if text == "latest" => Ok(SeekTo::Latest),
        _ => read::time(place, value)
            .map(SeekTo::Time)
            .map_err(|error| error.with_hint("write `earliest`, `latest`, an RFC 3339 time or Unix milliseconds")),
    }
}
