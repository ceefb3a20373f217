//! Topics.

use axum::http::StatusCode;

use super::{Answer, outcome, page};
use crate::{
    answer::{self, PageAnswer, TopicAnswer},
    door::Asked,
    settings,
};

pub(super) async fn list(asked: Asked) -> Answer {
    let namespace = asked.captures.namespace()?;
    let page = asked.door.broker.list_topics(namespace, page(asked.query)?).await?;
    let topics: Vec<_> = page.items.iter().map(TopicAnswer::of).collect();
    Ok(answer::json(StatusCode::OK, &PageAnswer::of("topics", topics, page.next_cursor.as_deref())))
}

pub(super) async fn get(asked: Asked) -> Answer {
    asked.query.finish()?;
    let view = asked.door.broker.get_topic(asked.captures.topic()?).await?;
    Ok(answer::json(StatusCode::OK, &TopicAnswer::of(&view)))
}

pub(super) async fn put(asked: Asked) -> Answer {
    asked.query.finish()?;
    let topic = asked.captures.topic()?;
    let patch = settings::topic(&asked.body)?;
    let put = asked.door.broker.put_topic(topic, patch).await?;
    Ok(answer::json(super::put_status(put.created), &TopicAnswer::of(&put.object)))
}

pub(super) async fn delete(asked: Asked) -> Answer {
    asked.query.finish()?;
    asked.door.broker.delete_topic(asked.captures.topic()?).await?;
    Ok(outcome(StatusCode::OK, "deleted"))
}
