//! What stands before every call: connections over the limit are told so, tokens are checked,
//! answers are counted, and faults of the library get details.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use punctual_broker_api::{Access, Error, REQUEST_ID_HEADER, RequestIds};
use punctual_proto::status::to_status;
use tonic::{
    body::Body,
    codegen::{
        Service,
        http::{HeaderValue, Request, Response, header::AUTHORIZATION},
    },
};

use crate::{
    body::{self, Held, Kind},
    calls,
    connection::{Admission, Peer},
    fault,
    memory::Memory,
    metrics::GrpcMetrics,
    seed,
};

/// The service around all services.
#[derive(Clone)]
pub(crate) struct Door<S> {
    inner: S,
    access: Arc<Access>,
    metrics: GrpcMetrics,
    memory: Memory,
    request_ids: Arc<RequestIds>,
}

impl<S> Door<S> {
    pub(crate) fn new(inner: S, access: Access, metrics: GrpcMetrics, memory: Memory) -> Self {
        let request_ids = Arc::new(seed::request_ids());
        Self { inner, access: Arc::new(access), metrics, memory, request_ids }
    }

    fn refusal(&self, request: &Request<Body>, peer: Option<&Peer>) -> Option<Error> {
        if peer.is_some_and(|peer| peer.admission == Admission::Refused) {
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
        let theirs = request.headers().get(REQUEST_ID_HEADER).and_then(|value| value.to_str().ok());
        let request_id = self.request_ids.of(theirs);
        let peer = request.extensions().get::<Peer>().cloned();
        if let Some(error) = self.refusal(&request, peer.as_ref()) {
            let response = to_status(&error).into_http();
            return Box::pin(std::future::ready(Ok(finish(response, call, request_id, &metrics).0)));
        }
        let share = peer.map_or_else(|| self.memory.share(), |peer| peer.share);
        let held: Held = Arc::new(Mutex::new(share.request()));
        let request = request.map(|body| body::incoming(body, Arc::clone(&held), kind_of(call)));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let (response, request_id) = finish(answer.await?, call, request_id, &metrics);
            drop(held);
            Ok(response.map(|body| body::outgoing(body, share, request_id)))
        })
    }
}

/// How a call is asked. What a cancelled consumer holds goes back with its attempt raised, so that
/// its stream must be told from a half-closed one.
fn kind_of(call: &str) -> Kind {
    match call {
        "Broker/Subscribe" => Kind::Consumer,
        "Broker/PublishStream" | "reflection" => Kind::Stream,
        _ => Kind::Unary,
    }
}

/// Names the request in an answer, and counts the answer by the code that it begins with: an error
/// stands in the headers when nothing else is answered.
fn finish(
    mut response: Response<Body>,
    call: &'static str,
    request_id: String,
    metrics: &GrpcMetrics,
) -> (Response<Body>, String) {
    let code = body::name(response.headers_mut(), &request_id);
    metrics.answered(call, code);
    // An id is made of header characters only, whether it is theirs or ours.
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, value);
    }
    (response, request_id)
}
