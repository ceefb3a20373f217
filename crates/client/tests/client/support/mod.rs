//! Brokers, doors and handlers of the tests.
mod clock;
pub(crate) mod postgres;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use punctual_client::{Client, ClientConfig, Leased, api::*};
use punctual_embedded::{ClockChoice, Config};
use punctual_gateway_grpc::{GrpcGateway, GrpcMetrics};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

pub(crate) use clock::ManualClock;

/// How long a test waits for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The broker in memory, with a clock that stands still.
pub(crate) async fn embedded() -> Arc<dyn Broker> {
    let config = Config { clock: ClockChoice::manual(), workers: Some(1), shards_if_new: 2, ..Config::default() };
    Arc::new(punctual_embedded::Broker::open(config).await.expect("a broker"))
}

pub(crate) fn orders() -> TopicPath {
    punctual_client::topic("orders").expect("a name")
}

pub(crate) fn closing() -> SubscriptionPath {
    punctual_client::subscription("orders", "closing").expect("names")
}

pub(crate) fn message(body: &str) -> NewMessage {
    NewMessage { body: body.to_owned().into(), ..NewMessage::default() }
}

/// Publishes messages that are due now.
pub(crate) async fn publish(broker: &Arc<dyn Broker>, bodies: &[&str]) {
    let messages = bodies.iter().map(|body| message(body)).collect();
    for result in broker.publish(orders(), messages).await.expect("published") {
        result.expect("accepted");
    }
}

/// Leases what is there, up to so many; waits for the first, then does not.
pub(crate) async fn receive(broker: &Arc<dyn Broker>, subscription: &SubscriptionPath, max: u32) -> Vec<Delivery> {
    let request = ReceiveRequest {
        subscription: subscription.clone(),
        max,
        max_bytes: 1 << 20,
        wait: DelayMs::from_secs(30),
        lease: None,
    };
    timeout(LONG, broker.receive(request)).await.expect("in time").expect("received")
}

/// What a worker has done with what it was given, as the broker counts it.
pub(crate) async fn stats(broker: &Arc<dyn Broker>) -> SubscriptionStats {
    broker.get_subscription(closing()).await.expect("a subscription").stats
}

pub(crate) fn text(delivery: &Delivery) -> String {
    String::from_utf8_lossy(&delivery.body).into_owned()
}

/// Tells a test what a handler does.
pub(crate) fn reports<T: Send + 'static>() -> (impl Fn(T) + Clone + Send + Sync + 'static, Reports<T>) {
    let (tell, told) = mpsc::channel(1000);
    (move |report| tell.try_send(report).expect("room for a report"), Reports(told))
}

pub(crate) struct Reports<T>(mpsc::Receiver<T>);

impl<T> Reports<T> {
    /// The next report, which must come.
    pub(crate) async fn next(&mut self) -> T {
        timeout(LONG, self.0.recv()).await.expect("in time").expect("a report")
    }

    /// Whether nothing has been reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Body and attempt: what most tests want to know of a delivery.
pub(crate) fn seen(leased: &Leased) -> (String, u32) {
    (text(leased), leased.attempt)
}

/// The end of something, which must come and not panic.
pub(crate) async fn end_of<T>(task: JoinHandle<T>) -> T {
    timeout(LONG, task).await.expect("in time").expect("no panic")
}

/// A door on a port of this machine.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Door {
    /// Opens a door before a broker, at a free port (0) or at this one.
    pub(crate) async fn open(broker: &Arc<dyn Broker>, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port");
        let address = listener.local_addr().expect("an address");
        let gateway = GrpcGateway {
            broker: Arc::clone(broker),
            access: Access::default(),
            connections: Arc::new(Semaphore::new(64)),
            metrics: GrpcMetrics::default(),
        };
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(gateway.serve(listener, async {
            let _ = stopped.await;
        }));
        Self { address, stop, serving }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(ClientConfig::new(self.address.to_string())).await.expect("connected")
    }

    /// Closes the door; answers its port when it is closed.
    pub(crate) async fn close(self) -> u16 {
        self.stop.send(()).expect("the door is open");
        end_of(self.serving).await.expect("served");
        self.address.port()
    }
}
