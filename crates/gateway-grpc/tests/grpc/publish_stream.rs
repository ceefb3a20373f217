//! PublishStream: pipelined, in order, a fault of a request stays its own.

use crate::support::{Served, error_of, scripted::Scripted};
use punctual_broker_api::Code;
use punctual_client::{Broker as _, Client, ClientConfig};
use punctual_gateway_grpc::limits::PUBLISHES_IN_FLIGHT_MAX;
use punctual_proto::{
    status::from_proto,
    v1::{NewMessage, PublishReply, PublishRequest},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

fn request(request_id: u64, topic: &str, bodies: &[&str]) -> PublishRequest {
    let message = |body: &&str| NewMessage { body: (*body).to_owned().into(), ..NewMessage::default() };
    let messages = bodies.iter().map(message).collect();
    PublishRequest { request_id, namespace: String::new(), topic: topic.to_owned(), messages }
}

fn ids(reply: &PublishReply) -> String {
    let show = |result: &punctual_proto::v1::PublishResult| match &result.error {
        Some(error) => format!("!{}", error.code),
        None => result.id.clone(),
    };
    reply.results.iter().map(show).collect::<Vec<_>>().join(" ")
}

async fn open(served: &Served) -> (mpsc::Sender<PublishRequest>, Streaming<PublishReply>) {
    let (requests, receiver) = mpsc::channel(512);
    let replies = served.raw().await.publish_stream(ReceiverStream::new(receiver)).await.expect("a stream");
    (requests, replies.into_inner())
}

#[tokio::test]
async fn replies_come_in_the_order_of_the_requests_however_long_each_takes() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let (requests, mut replies) = open(&served).await;
    // The first waits in the broker; those behind it are asked and answered meanwhile.
    requests.send(request(1, "held", &["slow"])).await.expect("open");
    for id in 2..=50 {
        requests.send(request(id, "orders", &[&format!("m{id}")])).await.expect("open");
    }
    broker.until_asked("publish orders m50").await;
    broker.held.add_permits(1);
    for id in 1..=50 {
        let reply = replies.message().await.expect("a reply").expect("open");
        assert_eq!(reply.request_id, id);
        assert_eq!(ids(&reply), if id == 1 { "slow".to_owned() } else { format!("m{id}") });
    }
    served.close().await;
}

#[tokio::test]
async fn an_error_of_a_request_stands_in_its_reply_and_the_stream_goes_on() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let (requests, mut replies) = open(&served).await;
    let mut bad = request(3, "orders", &["a", "b", "c"]);
    bad.messages[1].delay_ms = Some(-1);
    let sent = [
        (request(1, "no such name", &["x"]), "invalid_name", ""),
        (request(2, "disk_full", &["x"]), "disk_full", ""),
        (bad, "", "a !invalid_duration c"),
        (request(4, "orders", &[]), "malformed_request", ""),
        (request(5, "orders", &["last"]), "", "last"),
    ];
    for (request, _, _) in &sent {
        requests.send(request.clone()).await.expect("open");
    }
    for (request, code, results) in sent {
        let reply = replies.message().await.expect("a reply").expect("open");
        assert_eq!(reply.request_id, request.request_id);
        assert_eq!(ids(&reply), results);
        assert_eq!(reply.error.map(|error| error.code).unwrap_or_default(), code);
    }
    served.close().await;
}

#[tokio::test]
async fn what_was_sent_before_a_half_close_is_answered() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let (requests, mut replies) = open(&served).await;
    requests.send(request(1, "held", &["slow"])).await.expect("open");
    requests.send(request(2, "orders", &["b"])).await.expect("open");
    drop(requests);
    broker.until_asked("publish orders b").await;
    broker.held.add_permits(1);
    assert_eq!(replies.message().await.expect("a reply").map(|reply| reply.request_id), Some(1));
    assert_eq!(replies.message().await.expect("a reply").map(|reply| reply.request_id), Some(2));
    assert!(replies.message().await.expect("the end").is_none());
    served.close().await;
}

#[tokio::test]
async fn requests_in_flight_are_bounded_and_the_rest_waits_at_the_client() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let (requests, mut replies) = open(&served).await;
    // One more than may be.
    let bound = u64::try_from(PUBLISHES_IN_FLIGHT_MAX).expect("a number");
    for id in 0..=bound {
        requests.send(request(id, "held", &[&id.to_string()])).await.expect("open");
    }
    broker.until_asked(&format!("publish held {}", bound - 1)).await;
    assert!(!broker.asked().contains(&format!("publish held {bound}")), "the bound holds");
    broker.held.add_permits(1);
    assert_eq!(replies.message().await.expect("a reply").map(|reply| reply.request_id), Some(0));
    broker.until_asked(&format!("publish held {bound}")).await;
    served.crash();
}

#[tokio::test]
async fn a_door_that_stops_answers_what_it_read_and_says_that_it_stops() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let (requests, mut replies) = open(&served).await;
    requests.send(request(1, "held", &["a"])).await.expect("open");
    broker.until_asked("publish held a").await;
    let closing = tokio::spawn(served.close());
    broker.held.add_permits(1);
    assert_eq!(replies.message().await.expect("a reply").map(|reply| reply.request_id), Some(1));
    let status = replies.message().await.expect_err("the stop");
    assert_eq!(error_of(&status).code, Code::ShuttingDown);
    closing.await.expect("closed");
    drop(requests);
}

#[tokio::test]
async fn every_code_comes_through_a_call_and_through_a_stream_as_it_is() {
    let served = Served::open(Scripted::new()).await;
    let client = Client::connect(ClientConfig::new(served.address.to_string())).await.expect("connected");
    let (requests, mut replies) = open(&served).await;
    for &code in Code::ALL {
        let topic = punctual_client::api::TopicPath {
            namespace: punctual_client::api::NamespaceName::default(),
            topic: punctual_client::api::TopicName::parse(code.slug()).expect("a name"),
        };
        let error = client.publish(topic, vec![Default::default()]).await.expect_err("refused");
        assert_eq!(error.code, code);
        assert_eq!(error.message, "as the script says");
        assert_eq!(error.field.as_deref(), Some("field"));
        assert_eq!(error.hint.as_deref(), Some("hint"));
        assert_eq!(error.retry_after_ms, Some(1500));

        requests.send(request(7, code.slug(), &["x"])).await.expect("open");
        let reply = replies.message().await.expect("a reply").expect("open");
        assert_eq!(reply.error.map(from_proto), Some(error));
    }
    served.close().await;
}

#[tokio::test]
async fn a_publisher_pipelines_and_hands_every_answer_to_its_caller() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let client = Client::connect(ClientConfig::new(served.address.to_string())).await.expect("connected");
    let publisher = client.publisher(50).await.expect("a stream");
    let topic = |name: &str| punctual_client::api::TopicPath {
        namespace: punctual_client::api::NamespaceName::default(),
        topic: punctual_client::api::TopicName::parse(name).expect("a name"),
    };
    let message = |body: String| vec![punctual_client::api::NewMessage { body: body.into(), ..Default::default() }];
    let mut answers = Vec::new();
    for n in 0..200 {
        let publisher = publisher.clone();
        let name = if n % 7 == 3 { "disk_full" } else { "held" };
        answers.push(tokio::spawn(async move { publisher.publish(topic(name), message(n.to_string())).await }));
    }
    broker.held.add_permits(200);
    for (n, answer) in answers.into_iter().enumerate() {
        match answer.await.expect("no panic") {
            Ok(results) => assert_eq!(results[0].as_ref().expect("accepted").id.as_str(), n.to_string()),
            Err(error) => assert_eq!((error.code, n % 7), (Code::DiskFull, 3)),
        }
    }
    // What is in flight when the connection breaks may have happened; what comes after did not.
    let (one, other) = (publisher.clone(), publisher.clone());
    broker.held.forget_permits(usize::MAX);
    let in_flight = tokio::spawn(async move { one.publish(topic("held"), message("late".to_owned())).await });
    broker.until_asked("publish held late").await;
    served.crash();
    assert_eq!(in_flight.await.expect("no panic").expect_err("lost").code, Code::OutcomeUnknown);
    assert_eq!(other.publish(topic("held"), message("x".to_owned())).await.expect_err("over").code, Code::Unreachable);
}
