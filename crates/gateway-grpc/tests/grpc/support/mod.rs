//! A door on a free port, before any broker.
pub(crate) mod scripted;

use std::{net::SocketAddr, sync::Arc};

use punctual_broker_api::{
    Access, Broker, Code, Error, NamespaceName, NewMessage, SubscriptionName, SubscriptionPath, TopicName, TopicPath,
    When,
};
use punctual_client::{Client, ClientConfig};
use punctual_embedded::{ClockChoice, Config};
use punctual_gateway_grpc::{GrpcGateway, GrpcMetrics};
use punctual_proto::v1::broker_client::BrokerClient;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, oneshot},
    task::JoinHandle,
};
use tonic::{
    Status,
    transport::{Channel, Endpoint},
};

/// The real broker in memory, with a clock that stands still, and a client of ours at its door.
pub(crate) async fn real() -> (punctual_embedded::Broker, Served, Client) {
    let config = Config { clock: ClockChoice::manual(), workers: Some(1), shards_if_new: 2, ..Config::default() };
    let broker = punctual_embedded::Broker::open(config).await.expect("a broker");
    let served = Served::open(Arc::new(broker.clone())).await;
    let client = served.client().await;
    (broker, served, client)
}

/// A topic of the namespace `default`.
pub(crate) fn topic(name: &str) -> TopicPath {
    TopicPath { namespace: NamespaceName::default(), topic: TopicName::parse(name).expect("a name") }
}

/// A subscription of such a topic.
pub(crate) fn subscription(topic_name: &str, name: &str) -> SubscriptionPath {
    SubscriptionPath { topic: topic(topic_name), subscription: SubscriptionName::parse(name).expect("a name") }
}

/// A message with a body and a time.
pub(crate) fn message(body: &str, when: When) -> NewMessage {
    NewMessage { body: body.to_owned().into(), when, ..NewMessage::default() }
}

/// A door that is open.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

/// Connections of a test's door.
pub(crate) const CONNECTIONS: usize = 64;

impl Served {
    /// Opens a door before a broker.
    pub(crate) async fn open(broker: Arc<dyn Broker>) -> Self {
        Self::open_with(broker, Access::default(), CONNECTIONS).await
    }

    /// Opens a door with tokens and a limit on connections.
    pub(crate) async fn open_with(broker: Arc<dyn Broker>, access: Access, connections: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(Semaphore::new(connections));
        let gateway = GrpcGateway { broker, access, connections, metrics: GrpcMetrics::default() };
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(gateway.serve(listener, async {
            let _ = stopped.await;
        }));
        Self { address, stop, serving }
    }

    /// A connection of the gRPC library's own.
    pub(crate) async fn channel(&self) -> Channel {
        channel_to(self.address).await
    }

    /// The generated client, without any of ours.
    pub(crate) async fn raw(&self) -> BrokerClient<Channel> {
        raw_at(self.address).await
    }

    /// A client of ours.
    pub(crate) async fn client(&self) -> Client {
        Client::connect(ClientConfig::new(self.address.to_string())).await.expect("connected")
    }

    /// Closes the door; returns when it is closed.
    pub(crate) async fn close(self) {
        self.stop.send(()).expect("the door is open");
        self.serving.await.expect("no panic").expect("served");
    }

    /// Takes the door away without a word: every connection is cut.
    pub(crate) fn crash(self) {
        self.serving.abort();
    }
}

/// A connection of the gRPC library's own.
pub(crate) async fn channel_to(address: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).expect("an endpoint").connect().await.expect("a connection")
}

/// The generated client, without any of ours.
pub(crate) async fn raw_at(address: SocketAddr) -> BrokerClient<Channel> {
    BrokerClient::new(channel_to(address).await)
}

/// The error that a status of ours carries.
pub(crate) fn error_of(status: &Status) -> Error {
    punctual_proto::status::from_status(status).unwrap_or_else(|| panic!("no details: {status:?}"))
}

/// The code and the field of a status.
pub(crate) fn code_and_field(status: &Status) -> (Code, String) {
    let error = error_of(status);
    (error.code, error.field.unwrap_or_default())
}
