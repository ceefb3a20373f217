//! One connection: HTTP/1.1 with its time limits, and an end that does not cut off the last answer.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};

use axum::{Router, body::Body, http::Response};
use futures_util::future::BoxFuture;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use punctual_broker_api::{Code, Error};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    time::timeout,
};
use tower_service::Service;

use crate::{limits, refusal::Refusal, seed, stall::StallGuard};

/// Serves a connection until either side ends it, or the door stops and it has nothing to answer.
pub(crate) async fn serve(stream: TcpStream, router: Router, stopping: watch::Receiver<bool>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits::HEAD_WAIT)
        .max_header_size(limits::HEAD_BYTES_MAX)
        .max_buf_size(limits::HEAD_BYTES_MAX);
    let service =
        service_fn(move |request: Request<Incoming>| -> BoxFuture<'static, Result<Response<Body>, Infallible>> {
            let mut router = router.clone();
            Box::pin(async move { router.call(request).await })
        });
    let mut connection = http.serve_connection(TokioIo::new(StallGuard::new(stream)), service);
    let mut stop = pin!(stopped(stopping));
    let mut told = false;
    let ended = poll_fn(|context| {
        if !told && stop.as_mut().poll(context).is_ready() {
            told = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        match connection.poll_without_shutdown(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => Poll::Ready(ended),
        }
    })
    .await;
    match ended {
        Ok(()) => linger(connection.into_parts().io.into_inner()).await,
        // What broke was the peer or its connection: nothing here is for us to mend.
        Err(error) => tracing::debug!(%error, "an HTTP connection broke"),
    }
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A sender that is gone means that the door is, too.
    let _either_way = stopping.wait_for(|stopping| *stopping).await;
}

/// Closes a connection so that its last answer arrives. To close a socket on which bytes lie
/// unread resets it, and a reset makes the peer's system drop what it has received and not yet
/// read: so our half is closed first, and what still comes is read and dropped for a while.
pub(crate) async fn linger(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let close = async {
        stream.shutdown().await?;
        let mut dropped = [0; 4096];
        while stream.read(&mut dropped).await? > 0 {}
        std::io::Result::Ok(())
    };
    // Late or broken, it is closed all the same.
    let _either_way = timeout(limits::LINGER, close).await;
}

/// Tells a peer that there are too many connections, and closes.
pub(crate) async fn refuse(mut stream: TcpStream) {
    let error = Error::new(Code::TooManyConnections, "the broker has as many connections as it may")
        .with_hint("close connections that are not needed, and use one for many requests")
        .with_retry_after_ms(1000);
    let request_id = seed::request_ids().of(None);
    let Ok(body) = serde_json::to_string(&Refusal::new(&error, &request_id)) else { return };
    let head = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let told = timeout(limits::LINGER, stream.write_all(format!("{head}{body}").as_bytes())).await;
    if matches!(told, Ok(Ok(()))) {
        linger(stream).await;
    }
}
