//! Every bound of the door, met. Time is tokio's, paused: it moves on when nothing else happens.

use std::sync::Arc;

use prometheus_client::{encoding::text::encode, registry::Registry};
use punctual_broker_api::Access;
use punctual_client::{Broker as _, Client, ClientConfig};
use punctual_gateway_grpc::{GrpcGateway, GrpcMetrics, limits};
use punctual_proto::v1::{NewMessage, PublishRequest};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    time::Instant,
};
use tokio_stream::wrappers::ReceiverStream;

use crate::support::{Served, scripted::Scripted, topic};

/// Reads until the peer closes; how long that took.
#[expect(clippy::disallowed_methods, reason = "the paused clock of the runtime is what moves these bounds")]
async fn seconds_until_closed(stream: &mut TcpStream) -> u64 {
    let start = Instant::now();
    let mut bytes = [0; 1024];
    while matches!(stream.read(&mut bytes).await, Ok(read) if read > 0) {}
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_is_closed() {
    let served = Served::open_with(Scripted::new(), Access::default(), 1).await;
    let mut silent = TcpStream::connect(served.address).await.expect("connected");
    assert_eq!(seconds_until_closed(&mut silent).await, limits::FIRST_BYTES_WAIT_MAX.as_secs());
    Client::connect(ClientConfig::new(served.address.to_string())).await.expect("its place is free again");
    served.close().await;
}

#[tokio::test(start_paused = true)]
async fn connections_far_over_the_limit_are_closed_at_once_and_those_told_so_soon_after() {
    let served = Served::open_with(Scripted::new(), Access::default(), 0).await;
    let mut told = Vec::new();
    for _ in 0..limits::REFUSALS_MAX {
        told.push(TcpStream::connect(served.address).await.expect("connected"));
    }
    let mut beyond = TcpStream::connect(served.address).await.expect("connected");
    assert_eq!(seconds_until_closed(&mut beyond).await, 0);
    for stream in &mut told {
        assert!(seconds_until_closed(stream).await <= limits::REFUSAL_LIFETIME.as_secs());
    }
    served.close().await;
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the paused clock of the runtime is what moves these bounds")]
async fn a_door_that_stops_waits_a_while_for_what_is_not_answered() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let client = served.client().await;
    let never = tokio::spawn(async move { client.publish(topic("held"), vec![Default::default()]).await });
    broker.until_asked("publish held ").await;
    let start = Instant::now();
    served.close().await;
    assert_eq!(start.elapsed().as_secs(), limits::STOP_GRACE.as_secs());
    let error = never.await.expect("no panic").expect_err("cut");
    assert_eq!(error.code, punctual_broker_api::Code::OutcomeUnknown);
}

#[tokio::test]
async fn bytes_in_flight_of_a_publish_stream_are_bounded() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let (requests, receiver) = mpsc::channel(16);
    let replies = served.raw().await.publish_stream(ReceiverStream::new(receiver)).await.expect("a stream");
    let mut replies = replies.into_inner();
    assert_eq!(limits::PUBLISH_BYTES_IN_FLIGHT_MAX, 32 << 20);
    // Eleven of 3 MiB are over that: the twelfth is not read before one of them was answered.
    for id in 1..=12 {
        let body = format!("{id}{}", " ".repeat(3 << 20));
        let message = NewMessage { body: body.into(), ..NewMessage::default() };
        let request = PublishRequest { topic: "held".to_owned(), messages: vec![message], ..Default::default() };
        requests.send(request).await.expect("open");
    }
    broker.until_asked("publish held 11").await;
    assert!(!broker.asked().contains(&"publish held 12".to_owned()), "the bound holds");
    broker.held.add_permits(1);
    replies.message().await.expect("a reply").expect("open");
    broker.until_asked("publish held 12").await;
    served.crash();
}

#[tokio::test]
async fn headers_over_the_limit_are_refused_and_the_door_goes_on() {
    let served = Served::open(Scripted::new()).await;
    let config = ClientConfig::new(served.address.to_string());
    Client::connect(config.clone().with_token("x".repeat(2 * limits::CALL_HEADERS_BYTES_MAX as usize)))
        .await
        .expect_err("refused");
    Client::connect(config.with_token("x".repeat(limits::CALL_HEADERS_BYTES_MAX as usize / 2)))
        .await
        .expect("the door goes on");
    served.close().await;
}

#[tokio::test]
async fn answers_are_counted_by_call_and_code_and_never_by_what_a_caller_wrote() {
    let mut registry = Registry::default();
    let metrics = GrpcMetrics::register(&mut registry);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let connections = Arc::new(Semaphore::new(8));
    let gateway = GrpcGateway { broker: Scripted::new(), access: Access::default(), connections, metrics };
    let serving = tokio::spawn(gateway.serve(listener, std::future::pending()));
    let client = Client::connect(ClientConfig::new(address.to_string())).await.expect("connected");
    for name in ["orders", "orders", "disk_full"] {
        let _ = client.publish(topic(name), vec![Default::default()]).await;
    }
    let mut page = String::new();
    encode(&mut page, &registry).expect("a page");
    for line in [
        "grpc_connections 1",
        "grpc_requests_total{call=\"Admin/GetStatus\",code=\"ok\"} 1",
        "grpc_requests_total{call=\"Broker/Publish\",code=\"ok\"} 2",
        "grpc_requests_total{call=\"Broker/Publish\",code=\"disk_full\"} 1",
    ] {
        assert!(page.lines().any(|written| written == line), "{line}\n{page}");
    }
    assert!(!page.contains("orders"), "{page}");
    serving.abort();
}
