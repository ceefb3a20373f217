//! Reading request bodies within bounds: of size, of time, and of memory over all connections.
//!
//! A body over its limit is refused by its `Content-Length` before a byte of it is read, or at
//! the first byte too many when it has none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use prometheus_client::metrics::gauge::Gauge;
use punctual_broker_api::{Code, Error};
use tokio::time::timeout;

use crate::limits;

/// The most bytes that JSON may take to carry `bytes` of messages, which base64 makes a third longer.
pub(crate) const fn json_bytes_max(bytes: usize) -> usize {
    bytes.saturating_add(bytes / 3).saturating_add(limits::JSON_SLACK_BYTES)
}

/// A fault of a call, and whether its connection can be used again.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Part of the body was left unread: nobody knows where the next request would begin.
    pub(crate) close: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, close: false }
    }
}

impl Failure {
    fn unread(error: Error) -> Self {
        Self { error, close: true }
    }
}

/// The request bodies held at the moment, over all connections.
pub(crate) struct Bodies {
    bytes: AtomicUsize,
    gauge: Gauge,
}

impl Bodies {
    pub(crate) fn new(gauge: Gauge) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicUsize::new(0), gauge })
    }
}

/// Bytes that one request holds; given back when it is answered.
pub(crate) struct Held {
    bodies: Arc<Bodies>,
    bytes: usize,
}

impl Held {
    pub(crate) const fn none(bodies: Arc<Bodies>) -> Self {
        Self { bodies, bytes: 0 }
    }

    /// Sets how much is held; refused when all requests together would hold too much.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), Error> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            let before = self.bodies.bytes.fetch_add(more, Ordering::Relaxed);
            if before.saturating_add(more) > limits::BODIES_BYTES_MAX {
                self.bodies.bytes.fetch_sub(more, Ordering::Relaxed);
                let problem = format!("cannot hold more than {} bytes of requests", limits::BODIES_BYTES_MAX);
                return Err(Error::new(Code::Overloaded, problem).with_retry_after_ms(1000));
            }
        } else {
            self.bodies.bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        self.bodies.gauge.set(i64::try_from(self.bodies.bytes.load(Ordering::Relaxed)).unwrap_or(i64::MAX));
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Shrinking is never refused.
        let _given_back = self.resize(0);
    }
}

/// What a body may take, and how it is called when it takes more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) bytes: usize,
    pub(crate) code: Code,
    pub(crate) field: Option<&'static str>,
}

impl Bound {
    fn exceeded(self, declared: Option<u64>) -> Failure {
        let has = declared.map_or_else(|| "more".to_owned(), |bytes| format!("{bytes} bytes"));
        let error = Error::new(self.code, format!("the request body has {has}, allowed are {} bytes", self.bytes))
            .with_hint("send less at once");
        Failure::unread(match self.field {
            Some(field) => error.with_field(field),
            None => error,
        })
    }
}

/// Reads a whole body of at most `bound` bytes.
pub(crate) async fn read_whole(mut body: Body, bound: Bound, held: &mut Held) -> Result<Bytes, Failure> {
    let declared = body.size_hint();
    let most = u64::try_from(bound.bytes).unwrap_or(u64::MAX);
    if declared.lower() > most {
        return Err(bound.exceeded(Some(declared.lower())));
    }
    let expected = declared.exact().unwrap_or(most);
    let patience = limits::BODY_STALL + Duration::from_secs(expected / limits::BODY_BYTES_PER_SECOND_MIN);
    timeout(patience, gather(&mut body, bound, declared.exact(), held)).await.unwrap_or_else(|_| Err(slow()))
}

async fn gather(body: &mut Body, bound: Bound, exact: Option<u64>, held: &mut Held) -> Result<Bytes, Failure> {
    // Memory follows what has arrived, not what was announced, until a first part has arrived.
    const TRUSTED_AFTER: usize = 64 << 10;
    let exact = exact.and_then(|bytes| usize::try_from(bytes).ok());
    let mut gathered = BytesMut::new();
    loop {
        let frame = match timeout(limits::BODY_STALL, body.frame()).await {
            Err(_) => return Err(slow()),
            Ok(None) => return Ok(gathered.freeze()),
            Ok(Some(Err(error))) => return Err(broken(&error)),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        let size = gathered.len().saturating_add(data.len());
        if size > bound.bytes {
            return Err(bound.exceeded(None));
        }
        held.resize(size).map_err(Failure::unread)?;
        if let Some(exact) = exact {
            gathered.reserve(if size >= TRUSTED_AFTER { exact.saturating_sub(gathered.len()) } else { data.len() });
        }
        // Copied even when it came in one piece: the piece is part of the connection's read
        // buffer, all of which a message would otherwise keep for as long as it waits.
        gathered.extend_from_slice(&data);
    }
}

/// Reads and drops a body that nobody asked for, if it is short; whether it was read to its end.
pub(crate) async fn discard(mut body: Body) -> bool {
    if body.is_end_stream() {
        return true;
    }
    if body.size_hint().lower() > limits::UNWANTED_BYTES_MAX {
        return false;
    }
    let read = async {
        let mut left = limits::UNWANTED_BYTES_MAX;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let Some(still) = u64::try_from(bytes).ok().and_then(|bytes| left.checked_sub(bytes)) else { return false };
            left = still;
        }
        true
    };
    timeout(limits::BODY_STALL, read).await.unwrap_or(false)
}

fn slow() -> Failure {
    Failure::unread(Error::new(Code::MalformedRequest, "the request body did not arrive in time"))
}

fn broken(error: &axum::Error) -> Failure {
    Failure::unread(Error::new(Code::MalformedRequest, format!("cannot read the request body: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_over_all_connections_are_bounded_and_given_back() {
        let bodies = Bodies::new(Gauge::default());
        let mut first = Held::none(Arc::clone(&bodies));
        let mut second = Held::none(Arc::clone(&bodies));
        first.resize(limits::BODIES_BYTES_MAX - 10).expect("room");
        let refused = second.resize(11).expect_err("no room");
        assert_eq!((refused.code, refused.retry_after_ms), (Code::Overloaded, Some(1000)));
        second.resize(10).expect("room");
        first.resize(5).expect("shrinking is never refused");
        second.resize(1000).expect("room again");
        drop(first);
        drop(second);
        assert_eq!((bodies.bytes.load(Ordering::Relaxed), bodies.gauge.get()), (0, 0));
    }
}
