//! The bodies of calls on their way in and out, counted against the memory of the door.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture, stream};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt, StreamBody};
use punctual_broker_api::{Code, Error};
use punctual_proto::status::{from_status, to_status, with_request_id};
use tokio::time::timeout;
use tonic::{
    Status,
    body::Body,
    codegen::{Bytes, http::HeaderMap},
};

use crate::{
    fault,
    framing::Framing,
    limits,
    memory::{HeldRequest, Share},
};

/// What a request holds; shared with the call, which holds it until it is answered.
pub(crate) type Held = Arc<Mutex<HeldRequest>>;

/// A request on its way in.
struct Incoming {
    body: Body,
    framing: Framing,
    held: Held,
    /// Runs out when the message under way takes too long to come whole.
    patience: Option<BoxFuture<'static, ()>>,
    call: Kind,
}

/// How a call is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By one message, which is held until it is answered.
    Unary,
    /// By a stream of them.
    Stream,
    /// By a stream whose cancellation is told as an error: the library takes a cancelled stream for
    /// one that was half-closed.
    Consumer,
}

/// Counts what a peer has sent of a message that did not come in one piece, and gives up one that
/// does not come on.
pub(crate) fn incoming(body: Body, held: Held, call: Kind) -> Body {
    let state = Incoming { body, framing: Framing::default(), held, patience: None, call };
    let frames = stream::unfold(Some(state), |state| async {
        let mut state = state?;
        match state.next().await? {
            Ok(frame) => Some((Ok(frame), Some(state))),
            Err(status) => Some((Err(status), None)),
        }
    });
    Body::new(StreamBody::new(frames))
}

impl Incoming {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, Status>> {
        let frame = match &mut self.patience {
            None => self.body.frame().await,
            Some(patience) => tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                () = patience => return Some(Err(to_status(&stalled()))),
            },
        };
        match frame? {
            Ok(frame) => {
                let followed = frame.data_ref().map_or(Ok(()), |data| self.follow(data));
                Some(followed.map(|()| frame).map_err(|error| to_status(&error)))
            }
            Err(status) if self.call == Kind::Consumer && status.code() == tonic::Code::Cancelled => {
                Some(Err(Status::new(fault::CANCELLED, "the client cancelled the stream")))
            }
            Err(status) => Some(Err(status)),
        }
    }

    fn follow(&mut self, data: &[u8]) -> Result<(), Error> {
        if self.framing.follow(data) {
            self.patience = None;
        }
        let under_way = self.framing.under_way();
        if under_way > 0 && self.patience.is_none() {
            let seconds = self.framing.length().unwrap_or_default() as u64 / limits::MESSAGE_BYTES_PER_SECOND_MIN;
            let patience = limits::MESSAGE_WAIT.saturating_add(Duration::from_secs(seconds));
            self.patience = Some(timeout(patience, std::future::pending::<()>()).map(|_| ()).boxed());
        }
        if under_way == 0 && self.call == Kind::Unary {
            return Ok(());
        }
        self.held.lock().unwrap_or_else(PoisonError::into_inner).resize(under_way)
    }
}

fn stalled() -> Error {
    Error::new(Code::MalformedRequest, "the request stood still before it was sent whole")
}

/// A reply on its way out: large pieces wait for room, and an error at its end names the request.
pub(crate) fn outgoing(body: Body, share: Share, request_id: String) -> Body {
    // An answer without a body stays one: its error stands in the headers, and they are its end.
    if body.is_end_stream() {
        return body;
    }
    let frames = stream::unfold(Some((body, share, request_id)), |state| async {
        let (mut body, share, request_id) = state?;
        let frame = match body.frame().await? {
            Ok(frame) => frame,
            Err(status) => return Some((Err(status), None)),
        };
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(mut frame) => {
                if let Some(trailers) = frame.trailers_mut() {
                    name(trailers, &request_id);
                }
                return Some((Ok(frame), Some((body, share, request_id))));
            }
        };
        match share.reply(data).await {
            Ok(data) => Some((Ok(Frame::data(data)), Some((body, share, request_id)))),
            Err(error) => {
                let mut trailers = HeaderMap::new();
                // What our own errors are made of fits into headers.
                let _ = to_status(&error).add_header(&mut trailers);
                name(&mut trailers, &request_id);
                Some((Ok(Frame::trailers(trailers)), None))
            }
        }
    });
    Body::new(StreamBody::new(frames))
}

/// Names the request in an error that stands in headers or trailers; answers the error's code.
pub(crate) fn name(headers: &mut HeaderMap, request_id: &str) -> &'static str {
    let Some(status) = Status::from_header_map(headers).filter(|status| status.code() != tonic::Code::Ok) else {
        return "ok";
    };
    let status = with_request_id(&fault::detailed(status), request_id);
    // What cannot be written as headers stays as the library wrote it.
    let _ = status.add_header(headers);
    let Some(error) = from_status(&status) else { return "other" };
    if error.code == Code::Internal {
        tracing::error!(request_id, %error, "answered an internal error");
    }
    error.code.slug()
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;
    use crate::memory::Memory;

    /// A call that is asked piece by piece.
    struct Asking {
        pieces: mpsc::Sender<Result<Frame<Bytes>, Status>>,
        body: Body,
        _held: Held,
    }

    fn ask(share: &Share, call: Kind) -> Asking {
        let (pieces, receiver) = mpsc::channel(64);
        let held: Held = Arc::new(Mutex::new(share.request()));
        let body = Body::new(StreamBody::new(ReceiverStream::new(receiver)));
        Asking { pieces, body: incoming(body, Arc::clone(&held), call), _held: held }
    }

    impl Asking {
        /// Sends bytes, and what became of them.
        async fn send(&mut self, bytes: Vec<u8>) -> Result<usize, Code> {
            self.pieces.send(Ok(Frame::data(bytes.into()))).await.expect("somebody listens");
            self.next().await
        }

        async fn next(&mut self) -> Result<usize, Code> {
            match self.body.frame().await.expect("an answer") {
                Ok(frame) => Ok(frame.data_ref().map_or(0, Bytes::len)),
                Err(status) => Err(from_status(&status).expect("an error of ours").code),
            }
        }
    }

    /// The beginning of a message of so many bytes, with so many of them.
    fn begun(length: u32, bytes: usize) -> Vec<u8> {
        [vec![0], length.to_be_bytes().to_vec(), vec![7; bytes]].concat()
    }

    const MIB: usize = 1 << 20;

    #[tokio::test]
    async fn half_sent_requests_of_a_connection_hold_what_it_may_and_no_more() {
        let memory = Memory::new();
        let share = memory.share();
        let full = limits::REQUESTS_BYTES_PER_CONNECTION_MAX / (16 * MIB);
        let mut asking: Vec<_> = (0..80).map(|_| ask(&share, Kind::Unary)).collect();
        let mut held = 0;
        for call in &mut asking {
            match call.send(begun(20 << 20, 16 * MIB - 5)).await {
                Ok(_) => held += 1,
                Err(code) => assert_eq!(code, Code::Overloaded),
            }
        }
        assert_eq!(held, full);
        // A message that comes in one piece needs no room, and another connection has its own.
        assert_eq!(ask(&share, Kind::Unary).send(begun(1000, 1000)).await, Ok(1005));
        assert_eq!(ask(&memory.share(), Kind::Unary).send(begun(20 << 20, 16 * MIB)).await, Ok(16 * MIB + 5));
        // What is answered or given up makes room.
        asking.truncate(1);
        assert_eq!(ask(&share, Kind::Unary).send(begun(20 << 20, 16 * MIB)).await, Ok(16 * MIB + 5));
    }

    #[tokio::test]
    async fn all_connections_together_hold_what_the_door_may_and_no_more() {
        let memory = Memory::new();
        let each = limits::REQUESTS_BYTES_PER_CONNECTION_MAX;
        let mut asking = Vec::new();
        for _ in 0..limits::REQUESTS_BYTES_MAX / each {
            let mut held = memory.share().request();
            held.resize(each).expect("room");
            asking.push(held);
        }
        let mut further = ask(&memory.share(), Kind::Stream);
        assert_eq!(further.send(begun(1 << 20, 10_000)).await, Err(Code::Overloaded));
    }

    #[tokio::test]
    async fn a_unary_request_is_held_until_it_is_answered_and_a_streamed_one_until_it_is_whole() {
        let share = Memory::new().share();
        let whole = limits::REQUESTS_BYTES_PER_CONNECTION_MAX;
        for (call, room) in [(Kind::Unary, false), (Kind::Stream, true)] {
            let mut asking = ask(&share, call);
            asking.send(begun(50_000, 40_000)).await.expect("a first piece");
            asking.send(vec![7; 10_000]).await.expect("a second");
            assert_eq!(share.request().resize(whole).is_ok(), room, "{call:?}");
            drop(asking);
            assert!(share.request().resize(whole).is_ok(), "{call:?} is answered");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_does_not_come_on_is_given_up_and_a_slow_one_is_not() {
        let share = Memory::new().share();
        let mut stalled = ask(&share, Kind::Stream);
        stalled.send(begun(10, 3)).await.expect("a beginning");
        assert_eq!(timeout(limits::MESSAGE_WAIT * 2, stalled.next()).await, Ok(Err(Code::MalformedRequest)));
        // Between two messages there is no hurry.
        let mut idle = ask(&share, Kind::Stream);
        idle.send(begun(10, 10)).await.expect("a message");
        assert!(timeout(limits::MESSAGE_WAIT * 10, idle.next()).await.is_err());
        let mut slow = ask(&share, Kind::Stream);
        let length = u32::try_from(limits::MESSAGE_BYTES_PER_SECOND_MIN * 60).expect("a length");
        slow.send(begun(length, 3)).await.expect("a beginning");
        assert!(timeout(limits::MESSAGE_WAIT + Duration::from_secs(59), slow.next()).await.is_err(), "it has the time");
        assert_eq!(timeout(Duration::from_secs(2), slow.next()).await, Ok(Err(Code::MalformedRequest)));
    }

    fn reply(pieces: Vec<Bytes>) -> Body {
        Body::new(StreamBody::new(stream::iter(pieces).map(|piece| Ok::<_, Status>(Frame::data(piece)))))
    }

    #[tokio::test(start_paused = true)]
    async fn replies_that_nobody_reads_hold_what_a_connection_may_and_wait_beyond() {
        let memory = Memory::new();
        let share = memory.share();
        let most = limits::REPLIES_BYTES_PER_CONNECTION_MAX / MIB;
        let pieces = vec![Bytes::from(vec![1; MIB]); most + 1];
        let mut body = outgoing(reply(pieces), share.clone(), "q".to_owned());
        let mut unread = Vec::new();
        for _ in 0..most {
            unread.push(body.frame().await.expect("a piece").expect("no error"));
        }
        let day = Duration::from_secs(86_400);
        assert!(timeout(day, body.frame()).await.is_err(), "it waits for its own reader");
        // What is short, or goes to another connection, does not wait.
        let short = Bytes::from(vec![1; limits::COUNTED_REPLY_BYTES_MIN - 1]);
        let mut other = outgoing(reply(vec![short.clone()]), share, "q".to_owned());
        assert!(other.frame().await.expect("a piece").is_ok());
        let mut other = outgoing(reply(vec![Bytes::from(vec![1; MIB])]), memory.share(), "q".to_owned());
        assert!(other.frame().await.expect("a piece").is_ok());
        unread.pop();
        assert!(timeout(day, body.frame()).await.expect("room").expect("a piece").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_for_which_the_door_has_no_room_ends_as_overloaded() {
        let memory = Memory::new();
        let each = limits::REPLIES_BYTES_PER_CONNECTION_MAX;
        let piece = Bytes::from(vec![1; each]);
        let mut unread = Vec::new();
        for _ in 0..limits::REPLIES_BYTES_MAX / each {
            unread.push(memory.share().reply(piece.clone()).await.expect("room"));
        }
        let mut body = outgoing(reply(vec![Bytes::from(vec![1; MIB])]), memory.share(), "web/17".to_owned());
        let end = timeout(limits::REPLY_ROOM_WAIT * 2, body.frame()).await.expect("an end").expect("a frame");
        let trailers = end.expect("no broken stream").into_trailers().expect("trailers");
        let status = Status::from_header_map(&trailers).expect("a status");
        assert_eq!(from_status(&status).map(|error| error.code), Some(Code::Overloaded));
        assert_eq!(punctual_proto::status::request_id_of(&status).as_deref(), Some("web/17"));
        assert!(body.frame().await.is_none());
    }
}
