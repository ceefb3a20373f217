//! Each limit of this door, met: at it, and one past it. In the tests that wait, the runtime's
//! clock stands still and jumps to the next timer when nothing else is to be done.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use prometheus_client::metrics::gauge::Gauge;
use punctual_broker_api::{Access, Code, REQUEST_ID_BYTES_MAX, RequestIds};
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{failing::Failing, wire::Wire};
use crate::{
    HttpGateway, HttpMetrics,
    body::{self, Bodies, Bound, Failure, Held},
    connection, json, limits,
    lines::Lines,
    server,
};

struct Open {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

async fn open() -> Open {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let gateway = HttpGateway {
        broker: Arc::new(Failing),
        access: Access::default(),
        connections: Arc::new(Semaphore::new(10)),
        metrics_page: Arc::new(String::new),
        metrics: HttpMetrics::default(),
    };
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(gateway.serve(listener, stopped.map(|_| ())));
    Open { address, stop, served }
}

fn held() -> Held {
    Held::none(Bodies::new(Gauge::default()))
}

/// A body of pieces, after which nothing more comes and it does not end.
fn stalled(pieces: &'static [&'static str]) -> Body {
    let pieces = stream::iter(pieces).map(|piece| Ok::<_, std::io::Error>(Bytes::from(*piece)));
    Body::from_stream(pieces.chain(stream::pending()))
}

#[tokio::test]
async fn a_head_of_too_many_bytes_or_lines_is_431() {
    let open = open().await;
    let lines = |count: usize| (0..count).map(|line| format!("x-{line}: 1\r\n")).collect::<String>();
    let bytes = |count: usize| format!("x: {}\r\n", "x".repeat(count));
    for (headers, status) in [
        // The HTTP library's own bound is 100 lines; one of them is `host`.
        (lines(99), 200),
        (lines(100), 431),
        (bytes(limits::HEAD_BYTES_MAX - 100), 200),
        (bytes(limits::HEAD_BYTES_MAX), 431),
    ] {
        let mut wire = Wire::connect(open.address).await;
        let head = wire.head("GET", "/healthz");
        wire.send(format!("{head}{headers}\r\n").as_bytes()).await;
        assert_eq!(wire.answer_head().await.status, status, "{} bytes", headers.len());
    }
}

#[tokio::test]
async fn a_document_over_its_limit_is_refused_unread() {
    let open = open().await;
    for (length, close) in [(limits::DOCUMENT_BYTES_MAX + 1, Some("close")), (2, None)] {
        let mut wire = Wire::connect(open.address).await;
        let head = wire.head("POST", "/v1/topics/t/subscriptions/s/ack");
        wire.send(format!("{head}content-length: {length}\r\n\r\n[]").as_bytes()).await;
        let answer = wire.answer().await;
        let code = if close.is_some() { "batch_too_large" } else { "malformed_request" };
        assert_eq!((answer.header("connection"), answer.fault().0.as_str()), (close, code));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unwanted_body_is_read_away_only_when_it_is_short() {
    let of = |bytes: u64| Body::from(vec![0; usize::try_from(bytes).expect("a size")]);
    assert!(body::discard(of(0)).await);
    assert!(body::discard(of(limits::UNWANTED_BYTES_MAX)).await);
    assert!(!body::discard(of(limits::UNWANTED_BYTES_MAX + 1)).await);
    // Of these nobody says how long they are.
    let pieces = |count: u64| {
        let piece = || Ok::<_, std::io::Error>(Bytes::from_static(&[0; 1024]));
        Body::from_stream(stream::iter((0..count).map(move |_| piece())))
    };
    assert!(body::discard(pieces(limits::UNWANTED_BYTES_MAX / 1024)).await);
    assert!(!body::discard(pieces(limits::UNWANTED_BYTES_MAX / 1024 + 1)).await);
    assert!(!body::discard(stalled(&["half"])).await);
}

#[test]
fn json_may_be_a_third_longer_than_what_it_carries_and_some() {
    assert_eq!(body::json_bytes_max(3000), 4000 + limits::JSON_SLACK_BYTES);
    assert_eq!(body::json_bytes_max(usize::MAX), usize::MAX);
}

async fn read(body: Body, bytes: usize) -> Result<Bytes, Failure> {
    body::read_whole(body, Bound { bytes, code: Code::BodyTooLarge, field: None }, &mut held()).await
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stands_still_is_waited_for_so_long_and_no_longer() {
    let wait = limits::BODY_STALL - Duration::from_millis(10);
    assert!(timeout(wait, read(stalled(&["half"]), 10)).await.is_err(), "it is still waited for");
    let wait = limits::BODY_STALL + Duration::from_millis(10);
    let failure = timeout(wait, read(stalled(&["half"]), 10)).await.expect("given up").expect_err("refused");
    assert!(failure.close && failure.error.code == Code::MalformedRequest, "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_is_given_up_though_it_never_stands_still() {
    let drip = stream::unfold((), |()| async {
        let never = std::future::pending::<()>();
        assert!(timeout(limits::BODY_STALL - Duration::from_secs(1), never).await.is_err());
        Some((Ok::<_, std::io::Error>(Bytes::from("x")), ()))
    });
    let bytes = usize::try_from(100 * limits::BODY_BYTES_PER_SECOND_MIN).expect("a size");
    let patience = limits::BODY_STALL + Duration::from_secs(100);
    let reading = read(Body::from_stream(drip), bytes);
    let failure = timeout(patience + Duration::from_secs(1), reading).await.expect("given up").expect_err("refused");
    assert!(failure.close, "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_pause_longer_than_a_body_but_not_for_ever() {
    let mut lines = Lines::new(stalled(&["half a line"]), held(), 100);
    let wait = limits::STREAM_STALL - Duration::from_millis(10);
    assert!(timeout(wait, lines.next_batch()).await.is_err(), "it is still waited for");
    let wait = limits::STREAM_STALL + Duration::from_millis(10);
    assert!(timeout(wait, lines.next_batch()).await.expect("given up").is_err());
}

#[tokio::test]
async fn a_batch_of_lines_is_bounded_in_lines_and_in_bytes() {
    let many = "{}\n".repeat(limits::STREAM_BATCH_LINES + 5);
    let mut lines = Lines::new(Body::from(many), held(), 100);
    assert_eq!(lines.next_batch().await.expect("lines").len(), limits::STREAM_BATCH_LINES);
    assert_eq!(lines.next_batch().await.expect("lines").len(), 5);

    let half = "x".repeat(limits::STREAM_BATCH_BYTES / 2) + "\n";
    let mut lines = Lines::new(Body::from(half.repeat(5)), held(), limits::STREAM_BATCH_BYTES);
    let mut batches = Vec::new();
    loop {
        match lines.next_batch().await.expect("lines").len() {
            0 => break,
            count => batches.push(count),
        }
    }
    assert_eq!(batches, [2, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_lingers_for_a_peer_that_still_sends_and_not_for_ever() {
    let (ours, mut theirs) = tokio::io::duplex(10);
    let wait = limits::LINGER + Duration::from_millis(10);
    timeout(wait, connection::linger(ours)).await.expect("over by then");
    assert_eq!(theirs.read(&mut [0]).await.expect("the end"), 0);
}

#[tokio::test]
async fn only_so_many_refusals_are_polite_at_one_time() {
    let refusals = Arc::new(Semaphore::new(limits::REFUSALS_AT_ONCE));
    let mut open = server::Listening::for_tests(Arc::new(Semaphore::new(0)), Arc::clone(&refusals));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    for (free, politely) in [(limits::REFUSALS_AT_ONCE, true), (0, false)] {
        let taken = u32::try_from(limits::REFUSALS_AT_ONCE - free).expect("a number");
        let _taken = refusals.acquire_many(taken).await.expect("open");
        let mut peer = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        open.accept(stream);
        let mut answer = String::new();
        peer.read_to_string(&mut answer).await.expect("an end");
        assert_eq!(answer.starts_with("HTTP/1.1 429 "), politely, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn accepting_pauses_when_the_system_has_no_room_and_hears_the_stop_meanwhile() {
    let mut never = std::pin::pin!(std::future::pending());
    let wait = limits::ACCEPT_PAUSE + Duration::from_millis(10);
    assert_eq!(timeout(wait, server::pause(never.as_mut())).await, Ok(false));
    let mut stopped = std::pin::pin!(std::future::ready(()));
    assert_eq!(server::pause(stopped.as_mut()).now_or_never(), Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_does_not_hold_the_stop_for_ever() {
    let open = open().await;
    let mut wire = Wire::connect(open.address).await;
    assert_eq!(wire.get("/healthz").await.status, 200);
    // Less than the body needs to be given up by itself.
    assert!(limits::STOP_GRACE < limits::BODY_STALL);
    let head = wire.head("POST", "/v1/topics/t/publish");
    wire.send(format!("{head}content-length: 10\r\n\r\nhalf").as_bytes()).await;
    open.stop.send(()).expect("open");
    let wait = limits::STOP_GRACE + Duration::from_secs(1);
    timeout(wait, open.served).await.expect("closed by then").expect("no panic").expect("no fault");
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_after_its_wait() {
    let open = open().await;
    let mut peer = TcpStream::connect(open.address).await.expect("a connection");
    let wait = limits::HEAD_WAIT - Duration::from_secs(1);
    assert!(timeout(wait, peer.read(&mut [0])).await.is_err(), "it is still waited for");
    let wait = Duration::from_secs(3);
    assert_eq!(timeout(wait, peer.read(&mut [0])).await.expect("closed by then").expect("the end"), 0);
}

#[test]
fn a_request_id_and_a_quoted_value_are_bounded() {
    let ids = RequestIds::seeded(1);
    let with = |length: usize| ids.of(Some(&"i".repeat(length))).len();
    assert_eq!(with(REQUEST_ID_BYTES_MAX), REQUEST_ID_BYTES_MAX);
    assert_eq!(with(REQUEST_ID_BYTES_MAX + 1), 16, "one of ours");
    let text = |length: usize| json::read::cut(&"v".repeat(length));
    assert_eq!(text(limits::QUOTED_BYTES_MAX).len(), limits::QUOTED_BYTES_MAX);
    assert_eq!(text(limits::QUOTED_BYTES_MAX + 1), format!("{}…", "v".repeat(limits::QUOTED_BYTES_MAX)));
}
