//! What stands before every call: connections over the limit are told so, tokens are checked,
//! answers are counted, and faults of the library get details.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use punctual_broker_api::{Access, Error};
use punctual_proto::status::{from_status, to_status};
use tonic::{
    Status,
    body::Body,
    codegen::{
        Service,
        http::{HeaderMap, Request, Response, header::AUTHORIZATION},
    },
};

use crate::{calls, connection::Admission, fault, metrics::GrpcMetrics};

/// The service around all services.
#[derive(Clone)]
pub(crate) struct Door<S> {
    inner: S,
    access: Arc<Access>,
    metrics: GrpcMetrics,
}

impl<S> Door<S> {
    pub(crate) fn new(inner: S, access: Access, metrics: GrpcMetrics) -> Self {
        Self { inner, access: Arc::new(access), metrics }
    }

    fn refusal(&self, request: &Request<Body>) -> Option<Error> {
        if request.extensions().get::<Admission>() == Some(&Admission::Refused) {
            return Some(fault::too_many_connections());
        }
        if self.access.is_open() || calls::is_health(request.uri().path()) {
            return None;
        }
        let authorization = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        self.access.check(authorization).err()
    }
}

impl<S> Service<Request<Body>> for Door<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let metrics = self.metrics.clone();
        let call = calls::label(request.uri().path());
        if let Some(error) = self.refusal(&request) {
            metrics.answered(call, error.code.slug());
            return Box::pin(std::future::ready(Ok(to_status(&error).into_http())));
        }
        let request = if call == SUBSCRIBE { request.map(tell_cancels) } else { request };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            let code = mend(response.headers_mut());
            metrics.answered(call, code);
            Ok(response)
        })
    }
}

/// The call whose cancelled streams are told from its half-closed ones.
const SUBSCRIBE: &str = "Broker/Subscribe";

/// The library takes a request stream that the client cancelled for one that it half-closed. Under
/// another code it is an error, as it has to be: what a cancelled consumer holds goes back with its
/// attempt raised.
fn tell_cancels(body: Body) -> Body {
    Body::new(body.map_err(|status| match status.code() {
        tonic::Code::Cancelled => Status::new(fault::CANCELLED, "the client cancelled the stream"),
        _ => status,
    }))
}

/// The code that an answer begins with: an error stands in the headers when nothing else is
/// answered. One without our details gets them.
fn mend(headers: &mut HeaderMap) -> &'static str {
    let Some(status) = Status::from_header_map(headers).filter(|status| status.code() != tonic::Code::Ok) else {
        return "ok";
    };
    let status = match from_status(&status) {
        Some(error) => return error.code.slug(),
        None => fault::detailed(status),
    };
    // What cannot be written as headers stays as the library wrote it.
    let _ = status.add_header(headers);
    from_status(&status).map_or("other", |error| error.code.slug())
}
