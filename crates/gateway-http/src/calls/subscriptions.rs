//! Subscriptions.

use axum::http::StatusCode;
use punctual_broker_api::{Code, MessageId, RedriveRequest, SubscriptionListRequest, SubscriptionListState};
use punctual_types::limits::{PAGE_DEFAULT, REDRIVE_IDS_MAX};
use serde::Serialize;

use super::{Answer, messages, outcome, page};
use crate::{
    answer::{self, PageAnswer, SubscriptionAnswer, ViewAnswer},
    door::Asked,
    json::{Fields, Json, read},
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
    let to = fields.required("to", read::seek)?;
    fields.finish()?;
    asked.door.broker.seek(subscription, to).await?;
    Ok(outcome(StatusCode::OK, "moved"))
}

/// `GET S/messages`: looks without leasing.
pub(super) async fn browse(mut asked: Asked) -> Answer {
    let subscription = asked.captures.subscription()?;
    let query = &mut asked.query;
    let states = SubscriptionListState::ALL.map(|state| (state.as_str(), state));
    let request = SubscriptionListRequest {
        subscription,
        state: query.optional("state", read::word(&states))?.unwrap_or(SubscriptionListState::Ready),
        limit: query.optional("limit", read::whole)?.unwrap_or(PAGE_DEFAULT),
        cursor: query.optional("cursor", read::text)?,
        with_body: query.optional("body", read::flag)?.unwrap_or(true),
    };
    asked.query.finish()?;
    let page = asked.door.broker.list_subscription_messages(request).await?;
    let messages: Vec<_> = page.items.iter().map(ViewAnswer::of).collect();
    Ok(answer::json(StatusCode::OK, &PageAnswer::of("messages", messages, page.next_cursor.as_deref())))
}

/// `POST S/redrive`.
pub(super) async fn redrive(asked: Asked) -> Answer {
    #[derive(Serialize)]
    struct Redriven {
        redriven: u64,
    }

    asked.query.finish()?;
    let subscription = asked.captures.subscription()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let id = |place: read::Place<'_>, value: Json<'_>| read::text(place, value).map(|id| MessageId::new(&id));
    let request = RedriveRequest {
        max: fields.optional("max", read::whole)?,
        ids: fields.optional("ids", read::list(REDRIVE_IDS_MAX, Code::BatchTooLarge, id))?,
        range: messages::range(&mut fields)?,
    };
    fields.finish()?;
    let redriven = asked.door.broker.redrive(subscription, request).await?;
    Ok(answer::json(StatusCode::OK, &Redriven { redriven }))
}
