//! Subscribe: what the door asks of a consumer, and how each end of a stream is taken.

use std::sync::Arc;

use crate::support::{
    Served, code_and_field, error_of,
    scripted::{Scripted, delivery},
};
use punctual_broker_api::Code;
use punctual_gateway_grpc::limits::{DELIVERIES_BYTES, REPLIES_BUFFERED_MAX, SUBSCRIBE_REQUESTS_IN_FLIGHT_MAX};
use punctual_proto::v1::{
    Abandon, Ack, Credit, Extend, Nack, Open, Release, Results, Stop, SubscribeReply, SubscribeRequest,
    subscribe_reply::Reply, subscribe_request::Request,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

struct Stream {
    requests: mpsc::Sender<SubscribeRequest>,
    replies: Streaming<SubscribeReply>,
}

fn open() -> Request {
    Request::Open(Open {
        topic: "orders".to_owned(),
        subscription: "closing".to_owned(),
        max_in_flight: 9,
        ..Open::default()
    })
}

fn receipts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

impl Stream {
    async fn try_open(served: &Served, first: Option<Request>) -> Result<Self, Status> {
        Self::try_open_at(served.address, first).await
    }

    async fn open_at(address: std::net::SocketAddr) -> Self {
        Self::try_open_at(address, Some(open())).await.expect("a stream")
    }

    async fn try_open_at(address: std::net::SocketAddr, first: Option<Request>) -> Result<Self, Status> {
        let (requests, receiver) = mpsc::channel(512);
        requests.send(SubscribeRequest { request: first }).await.expect("room");
        let replies =
            crate::support::raw_at(address).await.subscribe(ReceiverStream::new(receiver)).await?.into_inner();
        Ok(Self { requests, replies })
    }

    async fn open(served: &Served) -> Self {
        Self::try_open(served, Some(open())).await.expect("a stream")
    }

    async fn send(&self, request: Request) {
        self.requests.send(SubscribeRequest { request: Some(request) }).await.expect("open");
    }

    async fn reply(&mut self) -> Reply {
        self.replies.message().await.expect("a reply").expect("open").reply.expect("a kind")
    }

    async fn results(&mut self) -> Results {
        match self.reply().await {
            Reply::Results(results) => results,
            Reply::Deliveries(deliveries) => panic!("{deliveries:?}"),
        }
    }

    async fn bodies(&mut self) -> Vec<usize> {
        match self.reply().await {
            Reply::Deliveries(deliveries) => deliveries.messages.iter().map(|message| message.body.len()).collect(),
            Reply::Results(results) => panic!("{results:?}"),
        }
    }
}

async fn start() -> (Arc<Scripted>, Served) {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    (broker, served)
}

#[tokio::test]
async fn acks_and_the_like_are_answered_in_order_by_their_numbers() {
    let (broker, served) = start().await;
    let mut stream = Stream::open(&served).await;
    stream.send(Request::Credit(Credit { n: 5 })).await;
    broker.until_asked("credit 5").await;
    broker.give(vec![delivery("a", vec![1]), delivery("b", vec![1, 2])]).await;
    assert_eq!(stream.bodies().await, [1, 2]);
    stream.send(Request::Ack(Ack { request_id: 1, receipts: receipts(&["a", "b"]) })).await;
    stream.send(Request::Nack(Nack { request_id: 2, receipts: receipts(&["c"]), ..Nack::default() })).await;
    stream.send(Request::Release(Release { request_id: 3, receipts: receipts(&["d"]) })).await;
    stream.send(Request::Extend(Extend { request_id: 4, receipts: receipts(&["e"]), lease_ms: 60_000 })).await;
    stream.send(Request::Extend(Extend { request_id: 5, receipts: receipts(&["f"]), lease_ms: -1 })).await;
    stream.send(Request::Stop(Stop { request_id: 6 })).await;
    let answers: Vec<_> = [
        stream.results().await,
        stream.results().await,
        stream.results().await,
        stream.results().await,
        stream.results().await,
        stream.results().await,
    ]
    .into_iter()
    .map(|answer| (answer.request_id, answer.results, answer.error.map(|error| (error.code, error.field))))
    .collect();
    let refused = Some(("invalid_duration".to_owned(), Some("lease".to_owned())));
    // Outcomes by their numbers on the wire: acked 1, retry 2, released 4, extended 5.
    let expected = [
        (1, vec![1, 1], None),
        (2, vec![2], None),
        (3, vec![4], None),
        (4, vec![5], None),
        (5, vec![], refused),
        (6, vec![], None),
    ];
    assert_eq!(answers, expected);
    let asked = broker.asked();
    for what in ["subscribe 9", "ack a+b", "nack c", "release d", "extend e 60000ms", "stop"] {
        assert!(asked.contains(&what.to_owned()), "{what}: {asked:?}");
    }
    served.close().await;
}

#[tokio::test]
async fn a_half_closed_stream_is_answered_then_closed_gracefully() {
    let (broker, served) = start().await;
    let stream = Stream::open(&served).await;
    let twice = 2 * u64::try_from(SUBSCRIBE_REQUESTS_IN_FLIGHT_MAX).expect("a number");
    for request_id in 0..twice {
        stream.send(Request::Ack(Ack { request_id, receipts: receipts(&["a"]) })).await;
    }
    let Stream { requests, mut replies } = stream;
    drop(requests);
    for request_id in 0..twice {
        match replies.message().await.expect("a reply").expect("open").reply {
            Some(Reply::Results(results)) => assert_eq!(results.request_id, request_id),
            other => panic!("{other:?}"),
        }
    }
    assert!(replies.message().await.expect("the end").is_none(), "ends with OK");
    let asked = broker.asked();
    assert!(asked.contains(&"stop".to_owned()));
    assert_eq!(asked.last().map(String::as_str), Some("close"), "after the last ack: {asked:?}");
    served.close().await;
}

#[tokio::test]
async fn a_lost_or_abandoned_stream_is_not_closed_gracefully_but_its_acks_count() {
    for how in ["lose", "abandon"] {
        let (broker, served) = start().await;
        // The client's connection lives on a runtime of its own, which can be taken away whole.
        let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one");
        let address = served.address;
        let stream = process.spawn(async move { Stream::open_at(address).await }).await.expect("a stream");
        stream.send(Request::Ack(Ack { request_id: 1, receipts: receipts(&["a"]) })).await;
        if how == "lose" {
            broker.until_asked("ack a").await;
            process.shutdown_background();
        } else {
            stream.send(Request::Abandon(Abandon {})).await;
            broker.until_asked("drop").await;
            process.shutdown_background();
        }
        broker.until_asked("drop").await;
        let asked = broker.asked();
        assert!(asked.contains(&"ack a".to_owned()), "{how}: {asked:?}");
        assert!(!asked.contains(&"close".to_owned()), "{how}: {asked:?}");
    }
}

#[tokio::test]
async fn what_breaks_the_rules_of_a_stream_is_refused_by_name() {
    for (first, field) in [
        (None, "open"),
        (Some(Request::Credit(Credit { n: 1 })), "open"),
        (Some(Request::Ack(Ack::default())), "open"),
        (Some(Request::Abandon(Abandon {})), "open"),
    ] {
        let (broker, served) = start().await;
        let status = Stream::try_open(&served, first).await.err().expect("refused");
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert_eq!(code_and_field(&status), (Code::MalformedRequest, field.to_owned()));
        assert_eq!(broker.asked(), Vec::<String>::new(), "nothing was asked of the broker");
    }
    for (open, code, field) in [
        (Open { topic: "a b".into(), ..Open::default() }, Code::InvalidName, "topic"),
        (Open { topic: "t".into(), ..Open::default() }, Code::InvalidName, "subscription"),
        (
            Open { topic: "t".into(), subscription: "s".into(), lease_ms: Some(-1), ..Open::default() },
            Code::InvalidDuration,
            "lease",
        ),
    ] {
        let (_, served) = start().await;
        let status = Stream::try_open(&served, Some(Request::Open(open))).await.err().expect("refused");
        assert_eq!(code_and_field(&status), (code, field.to_owned()));
    }
    for (second, field) in [(Some(open()), "open"), (None, "request")] {
        let (broker, served) = start().await;
        let mut stream = Stream::open(&served).await;
        stream.send(Request::Ack(Ack { request_id: 1, receipts: receipts(&["a"]) })).await;
        stream.requests.send(SubscribeRequest { request: second }).await.expect("open");
        assert_eq!(stream.results().await.request_id, 1, "what came before is answered");
        let status = stream.replies.message().await.expect_err("refused");
        assert_eq!(code_and_field(&status), (Code::MalformedRequest, field.to_owned()));
        broker.until_asked("drop").await;
    }
}

#[tokio::test]
async fn a_broker_that_ends_the_stream_ends_it_with_ok() {
    let (broker, served) = start().await;
    let mut stream = Stream::open(&served).await;
    broker.give(Vec::new()).await;
    assert!(stream.replies.message().await.expect("the end").is_none());
    served.close().await;
}

#[tokio::test]
async fn a_door_that_stops_closes_its_consumers_gracefully_and_says_why() {
    let (broker, served) = start().await;
    let mut stream = Stream::open(&served).await;
    let closing = tokio::spawn(served.close());
    let status = stream.replies.message().await.expect_err("the stop");
    assert_eq!(error_of(&status).code, Code::ShuttingDown);
    broker.until_asked("close").await;
    closing.await.expect("closed");
}

#[tokio::test]
async fn deliveries_fit_into_replies_that_any_client_takes() {
    let (broker, served) = start().await;
    let mut stream = Stream::open(&served).await;
    let half = DELIVERIES_BYTES * 6 / 10;
    broker.give(vec![delivery("a", vec![0; half]), delivery("b", vec![0; half]), delivery("c", vec![0; 1])]).await;
    assert_eq!(stream.bodies().await, [half]);
    assert_eq!(stream.bodies().await, [half, 1]);
    broker.give(vec![delivery("d", vec![0; 3 << 20]), delivery("e", vec![])]).await;
    assert_eq!(stream.bodies().await, [3 << 20]);
    assert_eq!(stream.bodies().await, [0]);
    served.close().await;
}

#[tokio::test]
async fn acks_are_taken_while_deliveries_wait_for_a_slow_reader() {
    let (broker, served) = start().await;
    let stream = Stream::open(&served).await;
    // More than the windows of the connection hold, and nobody reads.
    for _ in 0..2 * REPLIES_BUFFERED_MAX {
        broker.give(vec![delivery("a", vec![0; 1 << 20])]).await;
    }
    stream.send(Request::Ack(Ack { request_id: 1, receipts: receipts(&["late"]) })).await;
    broker.until_asked("ack late").await;
    served.crash();
}
