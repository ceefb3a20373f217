//! What stands before every call: tokens, the limit on connections, details on every fault,
//! reflection and health.

use bytes::Bytes;
use prost::Message as _;
use punctual_broker_api::{Access, Code, Limits};
use punctual_client::{Broker as _, Client, ClientConfig};
use punctual_gateway_grpc::limits::{RECEIVE_BYTES_DEFAULT, REQUEST_OVERHEAD_BYTES_MAX, RETRY_AFTER_MS};
use punctual_proto::{
    status::request_id_of,
    v1::{NewMessage, PublishRequest, broker_client::BrokerClient},
};
use tokio_stream::StreamExt as _;
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use crate::support::{Served, code_and_field, error_of, real, scripted::Scripted, topic};

#[tokio::test]
async fn without_a_known_token_only_the_health_is_told() {
    let access = Access::new(vec!["secret".to_owned(), "other".to_owned()]);
    let broker = Scripted::new();
    let served = Served::open_with(broker.clone(), access, 8).await;
    let address = served.address.to_string();
    let missing = Client::connect(ClientConfig::new(&address)).await.expect_err("refused");
    assert_eq!(missing.code, Code::TokenMissing);
    let unknown = Client::connect(ClientConfig::new(&address).with_token("guess")).await.expect_err("refused");
    assert_eq!(unknown.code, Code::TokenUnknown);
    let status = served.raw().await.publish(PublishRequest::default()).await.expect_err("refused");
    assert_eq!((status.code(), error_of(&status).code), (tonic::Code::Unauthenticated, Code::TokenMissing));
    assert_eq!(broker.asked(), Vec::<String>::new(), "nothing reached the broker");
    for token in ["secret", "other"] {
        let client = Client::connect(ClientConfig::new(&address).with_token(token)).await.expect("let in");
        client.publish(topic("orders"), vec![Default::default()]).await.expect("published");
    }
    let check = HealthCheckRequest { service: String::new() };
    HealthClient::new(served.channel().await).check(check).await.expect("told to anyone");
    served.close().await;
}

#[tokio::test]
async fn an_error_names_the_request_that_it_answers() {
    let (_broker, served, _client) = real().await;
    let mut raw = served.raw().await;
    let ask = |id: Option<&str>| {
        let mut request = Request::new(PublishRequest { topic: "a/b".to_owned(), ..PublishRequest::default() });
        id.map(|id| request.metadata_mut().insert("x-request-id", id.parse().expect("metadata")));
        request
    };
    let status = raw.publish(ask(Some("web/17"))).await.expect_err("refused");
    assert_eq!(request_id_of(&status).as_deref(), Some("web/17"));
    assert_eq!(status.metadata().get("x-request-id").and_then(|id| id.to_str().ok()), Some("web/17"));
    for not_an_id in [None, Some("a b"), Some("\"")] {
        let made = request_id_of(&raw.publish(ask(not_an_id)).await.expect_err("refused"));
        assert_eq!(made.map(|id| id.len()), Some(16), "{not_an_id:?}");
    }
    served.close().await;
}

#[tokio::test]
async fn a_connection_over_the_limit_is_told_so_and_room_is_found_again() {
    let served = Served::open_with(Scripted::new(), Access::default(), 1).await;
    let config = ClientConfig::new(served.address.to_string());
    let first = Client::connect(config.clone()).await.expect("the one");
    let refused = Client::connect(config.clone()).await.expect_err("over the limit");
    assert_eq!(refused.code, Code::TooManyConnections);
    assert_eq!(refused.retry_after_ms, Some(RETRY_AFTER_MS));
    first.publish(topic("orders"), vec![Default::default()]).await.expect("the one goes on");
    drop(first);
    // The broker notices the end of a connection when it comes to read it.
    let again = async {
        while Client::connect(config.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), again).await.expect("room again");
    served.close().await;
}

/// Sends bytes as they are and does not look at the answer.
#[derive(Clone, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        use bytes::BufMut as _;
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        use bytes::Buf as _;
        buffer.advance(buffer.remaining());
        Ok(Some(()))
    }
}

async fn call_raw(served: &Served, path: &'static str, bytes: Bytes) -> Result<(), Status> {
    let mut grpc = Grpc::new(served.channel().await);
    grpc.ready().await.expect("ready");
    grpc.unary(Request::new(bytes), PathAndQuery::from_static(path), Raw).await.map(|_| ())
}

#[tokio::test]
async fn faults_below_the_calls_carry_a_code_as_all_others_do() {
    let broker = Scripted::with_limits(Limits { batch_bytes_max: 1 << 10, ..Limits::default() });
    let served = Served::open(broker.clone()).await;
    let publish = "/punctual.v1.Broker/Publish";
    let too_large = Bytes::from(vec![0; REQUEST_OVERHEAD_BYTES_MAX + (2 << 10)]);
    // Field 3 (topic), two bytes that are not UTF-8.
    let no_text = Bytes::from_static(&[0x1a, 2, 0xff, 0xfe]);
    let cut = Bytes::from_static(&[0x1a, 200]);
    for (path, bytes, status, code) in [
        ("/punctual.v1.Broker/Dance", Bytes::new(), tonic::Code::Unimplemented, Code::RouteNotFound),
        ("/punctual.v1.Messages/Juggle", Bytes::new(), tonic::Code::Unimplemented, Code::RouteNotFound),
        ("/elsewhere.Service/Call", Bytes::new(), tonic::Code::Unimplemented, Code::RouteNotFound),
        (publish, too_large, tonic::Code::OutOfRange, Code::BatchTooLarge),
        (publish, no_text, tonic::Code::InvalidArgument, Code::MalformedRequest),
        (publish, cut, tonic::Code::InvalidArgument, Code::MalformedRequest),
    ] {
        let answer = call_raw(&served, path, bytes).await.expect_err("refused");
        assert_eq!((answer.code(), error_of(&answer).code), (status, code), "{path}");
    }
    assert_eq!(broker.asked(), Vec::<String>::new(), "nothing reached the broker");
    served.close().await;
}

#[tokio::test]
async fn a_batch_of_too_many_messages_is_refused_whole() {
    let broker = Scripted::with_limits(Limits { batch_messages_max: 2, ..Limits::default() });
    let served = Served::open(broker.clone()).await;
    let messages = vec![NewMessage::default(); 3];
    let request = PublishRequest { topic: "orders".to_owned(), messages, ..PublishRequest::default() };
    let status = served.raw().await.publish(request).await.expect_err("refused");
    assert_eq!(code_and_field(&status), (Code::BatchTooLarge, "messages".to_owned()));
    assert_eq!(broker.asked(), Vec::<String>::new());
    served.close().await;
}

#[tokio::test]
async fn a_receive_that_waits_ends_when_the_door_stops() {
    let broker = Scripted::new();
    let served = Served::open(broker.clone()).await;
    let mut raw: BrokerClient<_> = served.raw().await;
    let request = punctual_proto::v1::ReceiveRequest {
        topic: "orders".to_owned(),
        subscription: "closing".to_owned(),
        wait_ms: 60_000,
        ..Default::default()
    };
    let waiting = tokio::spawn(async move { raw.receive(request).await });
    // Without a bound of its own it asks for no more than most clients take.
    broker.until_asked(&format!("receive {RECEIVE_BYTES_DEFAULT}")).await;
    served.close().await;
    let status = waiting.await.expect("no panic").expect_err("stopped");
    assert_eq!(error_of(&status).code, Code::ShuttingDown);
}

#[tokio::test]
async fn reflection_answers_the_contract_as_it_is_written() {
    let served = Served::open(Scripted::new()).await;
    let mut client = ServerReflectionClient::new(served.channel().await);
    let ask = |request| ServerReflectionRequest { host: String::new(), message_request: Some(request) };
    let requests = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("punctual.v1.NewMessage".to_owned())),
    ];
    let replies = client.server_reflection_info(tokio_stream::iter(requests)).await.expect("a stream").into_inner();
    let replies: Vec<_> = replies.collect::<Result<_, _>>().await.expect("replies");
    let Some(MessageResponse::ListServicesResponse(services)) = &replies[0].message_response else { panic!() };
    let names: Vec<_> = services.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["punctual.v1.Broker", "punctual.v1.Messages", "punctual.v1.Admin", "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let Some(MessageResponse::FileDescriptorResponse(files)) = &replies[1].message_response else { panic!() };
    let file = prost_types::FileDescriptorProto::decode(files.file_descriptor_proto[0].as_slice()).expect("a file");
    let message = file.message_type.iter().find(|message| message.name() == "NewMessage").expect("the message");
    // Headers are a map to every client, although this side keeps their order.
    let entry = message.nested_type.iter().find(|nested| nested.name() == "HeadersEntry").expect("a map's entry");
    assert!(entry.options.as_ref().is_some_and(|options| options.map_entry()));
    served.close().await;
}

#[tokio::test]
async fn health_follows_the_broker() {
    let (broker, served, _client) = real().await;
    let mut health = HealthClient::new(served.channel().await);
    for service in ["", "punctual.v1.Broker", "punctual.v1.Messages", "punctual.v1.Admin"] {
        let reply = health.check(HealthCheckRequest { service: service.to_owned() }).await.expect("a status");
        assert_eq!(reply.into_inner().status, i32::from(ServingStatus::Serving), "{service}");
    }
    let status = health.check(HealthCheckRequest { service: "elsewhere".to_owned() }).await.expect_err("unknown");
    assert_eq!(status.code(), tonic::Code::NotFound);
    let mut watch = health.watch(HealthCheckRequest::default()).await.expect("a stream").into_inner();
    assert_eq!(watch.message().await.expect("a status").map(|s| s.status), Some(ServingStatus::Serving.into()));
    broker.close().await.expect("closed");
    assert_eq!(watch.message().await.expect("a status").map(|s| s.status), Some(ServingStatus::NotServing.into()));
    served.close().await;
}
