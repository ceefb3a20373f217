//! A real broker in memory, with its clock in our hands, behind a real HTTP door.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use prometheus_client::registry::Registry;
use punctual_broker_api::{Access, Broker as _, DelayMs, Limits, Time};
use punctual_embedded::{Broker, ClockChoice, Config, StoreChoice};
use punctual_gateway_http::{HttpGateway, HttpMetrics};
use tokio::{net::TcpListener, sync::Semaphore, sync::oneshot, task::JoinHandle, time::timeout};

use crate::wire::Wire;

/// When broker time begins: 2026-11-30T12:00:00Z.
pub(crate) const START_MS: u64 = 1_796_040_000_000;

/// A broker and its door.
pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) broker: Broker,
    pub(crate) connections: Arc<Semaphore>,
    connections_max: usize,
    metrics_page: Arc<dyn Fn() -> String + Send + Sync>,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(Limits::default(), Access::default()).await
    }

    pub(crate) async fn with(limits: Limits, access: Access) -> Self {
        let start = Time::from_unix_ms(START_MS).expect("a time");
        let config = Config {
            store: StoreChoice::Memory,
            clock: ClockChoice::Manual { start },
            shards_if_new: 2,
            workers: Some(1),
            limits,
            ..Config::default()
        };
        let broker = Broker::open(config).await.expect("a broker");
        let mut registry = Registry::default();
        let metrics = HttpMetrics::register(&mut registry);
        let registry = Arc::new(registry);
        let connections = Arc::new(Semaphore::new(limits.connections_max));
        let metrics_page: Arc<dyn Fn() -> String + Send + Sync> = Arc::new(move || {
            let mut page = String::new();
            prometheus_client::encoding::text::encode(&mut page, &registry).expect("metrics");
            page
        });
        let gateway = HttpGateway {
            broker: Arc::new(broker.clone()),
            access,
            connections: Arc::clone(&connections),
            metrics_page: Arc::clone(&metrics_page),
            metrics,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(gateway.serve(listener, async {
            // A house that is dropped stops, too.
            let _either_way = stopped.await;
        }));
        Self {
            address,
            broker,
            connections,
            connections_max: limits.connections_max,
            metrics_page,
            stop: Some(stop),
            served,
        }
    }

    pub(crate) async fn connect(&self) -> Wire {
        Wire::connect(self.address).await
    }

    /// Moves the clock; everything that came due was offered when this returns.
    pub(crate) async fn advance(&self, ms: u64) {
        self.broker.advance_clock(DelayMs::from_ms(ms)).await.expect("the clock moves");
    }

    /// Waits until a request is on its way through the door.
    pub(crate) async fn in_flight(&self) {
        while !(self.metrics_page)().contains("http_requests_in_flight 1\n") {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until no connection is open.
    pub(crate) async fn all_gone(&self) {
        let all = u32::try_from(self.connections_max).expect("a number");
        let waited = timeout(Duration::from_secs(20), self.connections.acquire_many(all)).await;
        drop(waited.expect("connections stay open").expect("open"));
    }

    /// Stops the door, as a signal does.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).expect("the door is open");
        }
    }

    /// Waits until the door is closed.
    pub(crate) async fn closed(self) {
        self.served.await.expect("no panic").expect("no fault");
    }
}
