//! Errors as they are answered.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use punctual_broker_api::{Error, Kind};
use serde::Serialize;

use crate::answer;

/// The HTTP status of a kind.
pub(crate) const fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::Overloaded => StatusCode::TOO_MANY_REQUESTS,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::UnknownOutcome => StatusCode::GATEWAY_TIMEOUT,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// `{"error":E}`.
#[derive(Serialize)]
pub(crate) struct Refusal<'e> {
    error: Fault<'e>,
}

/// E of the contract.
#[derive(Serialize)]
pub(crate) struct Fault<'e> {
    code: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'e str>,
    message: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'e str>,
    doc_url: String,
    request_id: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl<'e> Fault<'e> {
    pub(crate) fn of(error: &'e Error, request_id: &'e str) -> Self {
        Self {
            code: error.code.slug(),
            kind: error.kind().as_str(),
            field: error.field.as_deref(),
            message: &error.message,
            hint: error.hint.as_deref(),
            doc_url: error.doc_url(),
            request_id,
            retry_after_ms: error.retry_after_ms,
        }
    }
}

impl<'e> Refusal<'e> {
    pub(crate) fn new(error: &'e Error, request_id: &'e str) -> Self {
        Self { error: Fault::of(error, request_id) }
    }
}

/// The answer to a call that failed as a whole.
pub(crate) fn respond(error: &Error, request_id: &str) -> Response<Body> {
    let kind = error.kind();
    let mut response = answer::json(status(kind), &Refusal::new(error, request_id));
    let headers = response.headers_mut();
    match kind {
        Kind::Overloaded | Kind::Unavailable => {
            // The header counts whole seconds, and none would mean at once.
            let seconds = error.retry_after_ms.map_or(1, |ms| ms.div_ceil(1000)).max(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        Kind::Unauthenticated => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Kind::Invalid
        | Kind::Forbidden
        | Kind::NotFound
        | Kind::Conflict
        | Kind::TooLarge
        | Kind::UnknownOutcome
        | Kind::Internal => {}
    }
    response
}
