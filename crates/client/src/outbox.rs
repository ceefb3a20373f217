//! What a consumer says to the broker. Credit adds up instead of queueing, so that granting it
//! needs neither room nor waiting.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use punctual_proto::v1::{Abandon, Credit, Open, Stop, SubscribeRequest, subscribe_request::Request};
use tokio_stream::Stream;

/// The request id of the one `Stop` of a stream.
pub(crate) const STOP_ID: u64 = 1;

/// How the stream of requests ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// What is leased goes back with its attempt not raised.
    Graceful,
    /// As if the connection were lost.
    Abandoned,
}

#[derive(Debug, Default)]
struct State {
    open: Option<Open>,
    credit: u32,
    stop: bool,
    end: Option<End>,
    waker: Option<Waker>,
}

/// The consumer's side.
#[derive(Clone, Debug)]
pub(crate) struct Outbox(Arc<Mutex<State>>);

/// The connection's side: the stream of requests.
#[derive(Debug)]
pub(crate) struct Requests(Outbox);

impl Outbox {
    pub(crate) fn new(open: Open) -> (Self, Requests) {
        let outbox = Self(Arc::new(Mutex::new(State { open: Some(open), ..State::default() })));
        (outbox.clone(), Requests(outbox))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing here panics half-way, so that a poisoned state is a whole one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn credit(&self, messages: u32) {
        self.change(|state| state.credit = state.credit.saturating_add(messages));
    }

    pub(crate) fn stop(&self) {
        self.change(|state| state.stop = true);
    }

    /// The first word on it stands.
    pub(crate) fn end(&self, end: End) {
        self.change(|state| state.end = state.end.or(Some(end)));
    }
}

impl Stream for Requests {
    type Item = SubscribeRequest;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SubscribeRequest>> {
        let mut state = self.0.lock();
        let request = if let Some(open) = state.open.take() {
            Request::Open(open)
        } else if state.end == Some(End::Abandoned) {
            state.end = Some(End::Graceful);
            Request::Abandon(Abandon {})
        } else if state.end == Some(End::Graceful) {
            return Poll::Ready(None);
        } else if state.stop {
            state.stop = false;
            Request::Stop(Stop { request_id: STOP_ID })
        } else if state.credit > 0 {
            Request::Credit(Credit { n: std::mem::take(&mut state.credit) })
        } else {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(Some(SubscribeRequest { request: Some(request) }))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    fn said(requests: &mut Requests) -> String {
        let mut said = Vec::new();
        while let Some(request) = requests.next().now_or_never() {
            match request.map(|request| request.request.expect("a request")) {
                Some(Request::Open(_)) => said.push("open".to_owned()),
                Some(Request::Credit(credit)) => said.push(format!("credit {}", credit.n)),
                Some(Request::Stop(_)) => said.push("stop".to_owned()),
                Some(Request::Abandon(_)) => said.push("abandon".to_owned()),
                Some(other) => panic!("{other:?}"),
                None => {
                    said.push("end".to_owned());
                    break;
                }
            }
        }
        said.join(", ")
    }

    #[test]
    fn credit_adds_up_while_nobody_reads_it() {
        let (outbox, mut requests) = Outbox::new(Open::default());
        outbox.credit(3);
        outbox.credit(4);
        assert_eq!(said(&mut requests), "open, credit 7");
        outbox.credit(u32::MAX);
        outbox.credit(1);
        assert_eq!(said(&mut requests), format!("credit {}", u32::MAX));
        assert_eq!(said(&mut requests), "");
    }

    #[test]
    fn a_graceful_end_is_not_followed_by_an_abandon() {
        let (outbox, mut requests) = Outbox::new(Open::default());
        outbox.stop();
        assert_eq!(said(&mut requests), "open, stop");
        outbox.end(End::Graceful);
        outbox.end(End::Abandoned);
        assert_eq!(said(&mut requests), "end");
    }

    #[test]
    fn what_is_dropped_is_abandoned_before_the_stream_ends() {
        let (outbox, mut requests) = Outbox::new(Open::default());
        outbox.credit(1);
        outbox.end(End::Abandoned);
        assert_eq!(said(&mut requests), "open, abandon, end");
    }
}
