//! One request, from its headers to its answer: its id, who asks, its body, the call, the count.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderValue, Response, Uri, header},
    routing::on,
};
use bytes::Bytes;
use futures_util::FutureExt;
use punctual_broker_api::{Access, Broker, Code, Error, REQUEST_ID_HEADER, RequestIds};
use tokio::sync::watch;

use crate::{
    body::{self, Bodies, Bound, Failure, Held},
    call::{Call, ROUTES, Wants},
    calls,
    json::Fields,
    limits,
    metrics::HttpMetrics,
    origin::Origins,
    path::Captures,
    query, refusal,
};

/// What requests share.
pub(crate) struct Door {
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) access: Access,
    pub(crate) origins: Origins,
    pub(crate) metrics_page: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) metrics: HttpMetrics,
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) request_ids: RequestIds,
    /// Turns true when the door closes.
    pub(crate) stop: watch::Receiver<bool>,
}

/// A request that is understood as far as its envelope.
pub(crate) struct Asked {
    pub(crate) door: Arc<Door>,
    pub(crate) request_id: String,
    pub(crate) captures: Captures,
    pub(crate) query: Fields<'static>,
    pub(crate) body: Bytes,
    /// Counts the body for as long as the request lives.
    pub(crate) held: Held,
}

/// The router over every route of the contract.
pub(crate) fn router(door: Arc<Door>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        for path in route.paths() {
            let call = route.call;
            router = router.route(
                &path,
                on(route.method.filter(), move |State(door): State<Arc<Door>>, params, request| {
                    door.answer(Some(call), params, request)
                }),
            );
        }
    }
    let nowhere = |State(door): State<Arc<Door>>, params, request| door.answer(None, params, request);
    router.fallback(nowhere).method_not_allowed_fallback(nowhere).with_state(door)
}

impl Door {
    /// Answers a request, whatever happens; `None` for one that matches no route.
    async fn answer(
        self: Arc<Self>,
        call: Option<Call>,
        params: Result<RawPathParams, RawPathParamsRejection>,
        request: Request,
    ) -> Response<Body> {
        let request_id =
            self.request_ids.of(request.headers().get(REQUEST_ID_HEADER).and_then(|value| value.to_str().ok()));
        let metrics = self.metrics.clone();
        let _in_flight = metrics.in_flight();
        let handled = Box::pin(self.handle(call, request_id.clone(), params, request));
        // A panic is a bug of ours and the end of this request alone.
        let handled = AssertUnwindSafe(handled).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(request_id, call = call.map(Call::name), "a request panicked");
            Err(Error::new(Code::Internal, "the broker failed to answer because of a bug of its own").into())
        });
        let (mut response, code, close) = match handled {
            Ok((response, close)) => (response, "ok", close),
            Err(failure) => {
                let error = &failure.error;
                if error.code == Code::Internal {
                    tracing::error!(request_id, call = call.map(Call::name), %error, "answered an internal error");
                }
                (refusal::respond(error, &request_id), error.code.slug(), failure.close)
            }
        };
        metrics.answered(call.map_or("none", Call::name), code);
        // An id is made of header characters only, whether it is theirs or ours.
        if let Ok(value) = HeaderValue::from_str(&request_id) {
            response.headers_mut().insert(REQUEST_ID_HEADER, value);
        }
        if close {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The answer, and whether the connection must close after it.
    async fn handle(
        self: Arc<Self>,
        call: Option<Call>,
        request_id: String,
        params: Result<RawPathParams, RawPathParamsRejection>,
        request: Request,
    ) -> Result<(Response<Body>, bool), Failure> {
        let (head, body) = request.into_parts();
        let known = match self.admit(call, &head.uri, &head.headers) {
            Ok(Some(call)) => call,
            refused => {
                let close = !body::discard(body).await;
                let error = refused.err().unwrap_or_else(|| {
                    let path = crate::json::read::cut(head.uri.path());
                    Error::new(Code::RouteNotFound, format!("there is no `{} {path}`", head.method))
                        .with_hint("GET /openapi.json tells every route")
                });
                return Err(Failure { error, close });
            }
        };
        let captures = Captures::of(params);
        let query = query::parse(head.uri.query());
        let mut held = Held::none(Arc::clone(&self.bodies));
        if known == Call::Publish && is_lines(&head.headers) {
            let asked = Asked { captures: captures?, query: query?, body: Bytes::new(), door: self, request_id, held };
            return Ok((calls::stream::publish(asked, body)?, false));
        }
        let (body, close) = match self.bound(known) {
            Some(bound) => (body::read_whole(body, bound, &mut held).await?, false),
            None => (Bytes::new(), !body::discard(body).await),
        };
        let asked = Asked { captures: captures?, query: query?, body, door: self, request_id, held };
        let response = calls::call(known, asked).await?;
        Ok((response, close))
    }

    /// Whether the caller may call this; `None` when there is nothing to call.
    fn admit(&self, call: Option<Call>, uri: &Uri, headers: &HeaderMap) -> Result<Option<Call>, Error> {
        if !call.is_some_and(Call::is_public) {
            self.origins.check(uri, headers)?;
            let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
            self.access.check(authorization)?;
        }
        Ok(call)
    }

    fn bound(&self, call: Call) -> Option<Bound> {
        let limits = self.broker.limits();
        match call.wants() {
            Wants::Nothing => None,
            Wants::Document => {
                Some(Bound { bytes: limits::DOCUMENT_BYTES_MAX, code: Code::BatchTooLarge, field: None })
            }
            Wants::Message => {
                Some(Bound { bytes: limits.body_bytes_max, code: Code::BodyTooLarge, field: Some("body") })
            }
            Wants::Batch => {
                let bytes = body::json_bytes_max(limits.batch_bytes_max);
                Some(Bound { bytes, code: Code::BatchTooLarge, field: Some("messages") })
            }
        }
    }
}

/// Whether a request is a stream of lines.
fn is_lines(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-ndjson")
}
