//! Namespaces.

use axum::http::StatusCode;

use super::{Answer, outcome, page};
use crate::{
    answer::{self, NamespaceAnswer, PageAnswer},
    door::Asked,
    settings,
};

pub(super) async fn list(asked: Asked) -> Answer {
    let page = asked.door.broker.list_namespaces(page(asked.query)?).await?;
    let namespaces: Vec<_> = page.items.iter().map(NamespaceAnswer::of).collect();
    Ok(answer::json(StatusCode::OK, &PageAnswer::of("namespaces", namespaces, page.next_cursor.as_deref())))
}

pub(super) async fn get(asked: Asked) -> Answer {
    asked.query.finish()?;
    let view = asked.door.broker.get_namespace(asked.captures.namespace()?).await?;
    Ok(answer::json(StatusCode::OK, &NamespaceAnswer::of(&view)))
}

pub(super) async fn put(asked: Asked) -> Answer {
    asked.query.finish()?;
    let namespace = asked.captures.namespace()?;
    let patch = settings::namespace(&asked.body)?;
    let put = asked.door.broker.put_namespace(namespace, patch).await?;
    Ok(answer::json(super::put_status(put.created), &NamespaceAnswer::of(&put.object)))
}

pub(super) async fn delete(asked: Asked) -> Answer {
    asked.query.finish()?;
    asked.door.broker.delete_namespace(asked.captures.namespace()?).await?;
    Ok(outcome(StatusCode::OK, "deleted"))
}
