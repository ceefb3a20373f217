//! What is for people and machines around the broker: health, metrics, documents.

use axum::{body::Body, http::StatusCode};
use punctual_broker_api::{Code, Error, Health};
use serde::Serialize;

use super::Answer;
use crate::{answer, door::Asked, error_pages, openapi};

const TEXT: &str = "text/plain; charset=utf-8";
const HOME: &str = "\
Punctual, a delayed-message broker.

  GET  /openapi.json                the whole HTTP API
  GET  /docs/errors/{code}          what an error means and what to do
  GET  /healthz  /readyz  /metrics  for whoever watches over it

Publish a message that arrives in 15 minutes, and take it when it is due:

  curl -X POST 'localhost:7800/v1/topics/orders/publish?delay=15m' -d 'order 17 is not paid'
  curl -X POST localhost:7800/v1/topics/orders/subscriptions/closer/receive -d '{\"wait\":\"30s\"}'
";

#[derive(Serialize)]
struct Status {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// `GET /healthz`: the process lives.
pub(super) async fn live(_asked: Asked) -> Answer {
    Ok(answer::json(StatusCode::OK, &Status { status: "alive", reason: None }))
}

/// `GET /readyz`: requests make sense.
pub(super) async fn ready(asked: Asked) -> Answer {
    Ok(match asked.door.broker.health().await? {
        Health::Ready => answer::json(StatusCode::OK, &Status { status: "ready", reason: None }),
        Health::Stopping => answer::json(StatusCode::SERVICE_UNAVAILABLE, &Status { status: "stopping", reason: None }),
        Health::Failed(reason) => {
            answer::json(StatusCode::SERVICE_UNAVAILABLE, &Status { status: "failed", reason: Some(reason) })
        }
    })
}

/// `GET /metrics`, as OpenMetrics text.
pub(super) async fn metrics(asked: Asked) -> Answer {
    let page = (asked.door.metrics_page)();
    Ok(answer::with_type(
        StatusCode::OK,
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        Body::from(page),
    ))
}

/// `GET /openapi.json`.
pub(super) async fn openapi(_asked: Asked) -> Answer {
    Ok(answer::with_type(StatusCode::OK, "application/json", Body::from(openapi::text())))
}

/// `GET /docs/errors/{slug}`.
pub(super) async fn error(asked: Asked) -> Answer {
    let slug = asked.captures.slug();
    let code = Code::from_slug(slug).ok_or_else(|| {
        let slug = crate::json::read::cut(slug);
        Error::new(Code::RouteNotFound, format!("there is no error code `{slug}`"))
    })?;
    Ok(answer::with_type(StatusCode::OK, "text/markdown; charset=utf-8", Body::from(error_pages::page(code))))
}

/// `GET /`.
pub(super) async fn home(_asked: Asked) -> Answer {
    Ok(answer::with_type(StatusCode::OK, TEXT, Body::from(HOME)))
}
