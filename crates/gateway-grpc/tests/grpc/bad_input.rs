//! Bad input is refused by code and field, changes nothing, and leaves the connection usable.

use punctual_broker_api::{Broker as _, Code, NamespaceName, PageRequest};
use punctual_proto::v1::{
    self, admin_client::AdminClient, broker_client::BrokerClient, messages_client::MessagesClient,
};
use tonic::{Response, Status, transport::Channel};

use crate::support::{code_and_field, real};

fn refused<T>(answer: Result<Response<T>, Status>) -> (Code, String) {
    code_and_field(&answer.err().expect("refused"))
}

/// One connection, all services.
struct Raw {
    broker: BrokerClient<Channel>,
    messages: MessagesClient<Channel>,
    admin: AdminClient<Channel>,
}

fn orders() -> String {
    "orders".to_owned()
}

/// The code and the field of each answer, in order.
const EXPECTED: [(Code, &str); 18] = [
    (Code::MalformedRequest, "messages"),
    (Code::InvalidName, "topic"),
    (Code::InvalidName, "namespace"),
    (Code::InvalidName, "subscription"),
    (Code::InvalidDuration, "wait"),
    (Code::InvalidField, "max_bytes"),
    (Code::InvalidDuration, "lease"),
    (Code::InvalidField, "max"),
    (Code::InvalidField, "wait"),
    (Code::InvalidDuration, "lease"),
    (Code::MalformedRequest, "id"),
    (Code::InvalidTime, "from"),
    (Code::MalformedRequest, "all"),
    (Code::InvalidDuration, "bucket"),
    (Code::MalformedRequest, "namespace"),
    (Code::InvalidName, "topic"),
    (Code::InvalidDuration, "by"),
    (Code::UnknownField, "reset"),
];

#[tokio::test]
async fn calls_with_bad_input_are_refused_by_code_and_field() {
    let (broker, served, _client) = real().await;
    let channel = served.channel().await;
    let mut raw = Raw {
        broker: BrokerClient::new(channel.clone()),
        messages: MessagesClient::new(channel.clone()),
        admin: AdminClient::new(channel),
    };
    let answers = [
        refused(raw.broker.publish(v1::PublishRequest { topic: orders(), ..Default::default() }).await),
        refused(raw.broker.publish(v1::PublishRequest { topic: "a b".to_owned(), ..Default::default() }).await),
        refused(raw.broker.publish(v1::PublishRequest { namespace: "é".to_owned(), ..Default::default() }).await),
        refused(raw.broker.receive(v1::ReceiveRequest { topic: orders(), ..Default::default() }).await),
        refused(raw.broker.receive(bad_receive(|request| request.wait_ms = -1)).await),
        refused(raw.broker.receive(bad_receive(|request| request.max_bytes = Some(-1))).await),
        refused(raw.broker.receive(bad_receive(|request| request.lease_ms = Some(-1))).await),
        refused(raw.broker.receive(bad_receive(|request| request.max = 1001)).await),
        refused(raw.broker.receive(bad_receive(|request| request.wait_ms = 60_001)).await),
        refused(raw.broker.extend(v1::ExtendRequest { lease_ms: -1, ..extend() }).await),
        refused(raw.messages.get(v1::GetRequest { topic: orders(), ..Default::default() }).await),
        refused(
            raw.messages.list(v1::ListRequest { topic: orders(), from_unix_ms: Some(-1), ..Default::default() }).await,
        ),
        refused(raw.messages.cancel_range(v1::CancelRangeRequest { topic: orders(), ..Default::default() }).await),
        refused(
            raw.messages
                .timeline(v1::TimelineRequest { topic: orders(), bucket_ms: Some(-1), ..Default::default() })
                .await,
        ),
        refused(raw.admin.get_namespace(v1::GetNamespaceRequest::default()).await),
        refused(raw.admin.delete_topic(v1::DeleteTopicRequest::default()).await),
        refused(raw.admin.advance_clock(v1::AdvanceClockRequest { by_ms: -1 }).await),
        refused(
            raw.admin
                .put_topic(v1::PutTopicRequest { topic: orders(), reset: vec!["x".to_owned()], ..Default::default() })
                .await,
        ),
    ];
    assert_eq!(
        answers.map(|(code, field)| format!("{code:?} {field}")),
        EXPECTED.map(|(code, field)| format!("{code:?} {field}"))
    );
    let all = PageRequest { limit: 10, cursor: None };
    let topics = broker.list_topics(NamespaceName::default(), all).await.expect("a page");
    assert_eq!(topics.items, [], "nothing was made");
    let good = v1::PublishRequest {
        topic: orders(),
        messages: vec![v1::NewMessage::default()],
        ..v1::PublishRequest::default()
    };
    raw.broker.publish(good).await.expect("the connection goes on");
    served.close().await;
}

fn bad_receive(change: impl FnOnce(&mut v1::ReceiveRequest)) -> v1::ReceiveRequest {
    let mut request = v1::ReceiveRequest { topic: orders(), subscription: "closing".to_owned(), ..Default::default() };
    change(&mut request);
    request
}

fn extend() -> v1::ExtendRequest {
    v1::ExtendRequest { topic: orders(), subscription: "closing".to_owned(), ..Default::default() }
}

#[tokio::test]
async fn a_bad_message_of_a_batch_fails_alone() {
    let (broker, served, _client) = real().await;
    let plain = || v1::NewMessage { body: "x".into(), ..v1::NewMessage::default() };
    let bad = [
        (v1::NewMessage { delay_ms: Some(-1), ..plain() }, "invalid_duration", "delay"),
        (v1::NewMessage { delay_ms: Some(i64::MAX), ..plain() }, "delay_too_long", "delay"),
        (v1::NewMessage { deliver_at_unix_ms: Some(i64::MAX), ..plain() }, "invalid_time", "deliver_at"),
        (v1::NewMessage { delay_level: Some(19), ..plain() }, "unknown_delay_level", "delay_level"),
        (v1::NewMessage { delay_ms: Some(1), delay_level: Some(1), ..plain() }, "exclusive_fields", "delay_level"),
        (v1::NewMessage { key: Some(String::new()), ..plain() }, "invalid_handle", "key"),
        (v1::NewMessage { key: Some("k".repeat(256)), ..plain() }, "invalid_handle", "key"),
        (v1::NewMessage { on_conflict: 77, ..plain() }, "invalid_field", "on_conflict"),
        (v1::NewMessage { priority: 256, ..plain() }, "invalid_field", "priority"),
        (
            v1::NewMessage { prepare: Some(v1::Prepare { timeout_ms: -1, max_checks: 1 }), ..plain() },
            "invalid_duration",
            "prepare.timeout",
        ),
        (v1::NewMessage { body: vec![0; (4 << 20) + 1].into(), ..plain() }, "body_too_large", "body"),
    ];
    let messages = [plain()].into_iter().chain(bad.iter().map(|(message, _, _)| message.clone())).chain([plain()]);
    let request = v1::PublishRequest { topic: orders(), messages: messages.collect(), ..Default::default() };
    let results = served.raw().await.publish(request).await.expect("answered").into_inner().results;
    assert_eq!(results.len(), bad.len() + 2);
    for (result, (_, code, field)) in results[1..].iter().zip(&bad) {
        let error = result.error.as_ref().expect("refused");
        assert_eq!((error.code.as_str(), error.field.as_deref()), (*code, Some(*field)));
    }
    for result in [&results[0], &results[bad.len() + 1]] {
        assert_eq!((result.status, &result.error), (v1::PublishStatus::Accepted.into(), &None));
    }
    let topic = broker.get_topic(crate::support::topic("orders")).await.expect("there");
    assert_eq!(topic.stats.published_total, 2, "and nothing of the bad ones was stored");
    served.close().await;
}
