//! The listener: accepts connections within the broker's limit, and lets them finish at the end.

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    sync::Arc,
};

use axum::Router;
use punctual_broker_api::{Access, Broker};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::timeout,
};

use crate::{
    body::Bodies,
    connection,
    door::{self, Door},
    limits,
    metrics::HttpMetrics,
    origin::Origins,
    seed,
};

/// The HTTP door of a broker.
pub struct HttpGateway {
    /// Whom requests are for.
    pub broker: Arc<dyn Broker>,
    /// Who may ask.
    pub access: Access,
    /// A permit for each open connection, shared by all doors.
    pub connections: Arc<Semaphore>,
    /// Renders the page of `/metrics` in the OpenMetrics text format.
    pub metrics_page: Arc<dyn Fn() -> String + Send + Sync>,
    /// Where this door counts.
    pub metrics: HttpMetrics,
}

impl std::fmt::Debug for HttpGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpGateway").field("access", &self.access).finish_non_exhaustive()
    }
}

/// A door that is open.
pub(crate) struct Listening {
    router: Router,
    metrics: HttpMetrics,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
    tasks: JoinSet<()>,
}

impl HttpGateway {
    /// Serves connections until `stop` resolves, then lets the requests in flight be answered, for
    /// [`limits::STOP_GRACE`] at most.
    ///
    /// # Errors
    /// When the listener has no address; a connection that cannot be accepted is retried, with a pause when the system
    /// has no room.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let (stop_sender, stopping) = watch::channel(false);
        let door = Arc::new(Door {
            broker: self.broker,
            origins: Origins::of(listener.local_addr()?, self.access.is_open()),
            access: self.access,
            metrics_page: self.metrics_page,
            bodies: Bodies::new(self.metrics.body_bytes.clone()),
            request_ids: seed::request_ids(),
            metrics: self.metrics.clone(),
            stop: stopping.clone(),
        });
        let mut open = Listening {
            router: door::router(door),
            metrics: self.metrics,
            connections: self.connections,
            refusals: Arc::new(Semaphore::new(limits::REFUSALS_AT_ONCE)),
            stopping,
            tasks: JoinSet::new(),
        };
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(ended) = open.tasks.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "an HTTP connection ended by a bug");
                    }
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => open.accept(stream),
                    // The system is out of descriptors or memory, or the peer has gone already. To
                    // ask again at once could spin for as long as it lasts.
                    Err(error) => {
                        tracing::warn!(%error, "could not accept an HTTP connection");
                        if pause(stop.as_mut()).await {
                            break;
                        }
                    }
                }
            }
        }
        drop(listener);
        // Nobody may be listening any more, which is what this wants.
        let _told = stop_sender.send(true);
        let drained = timeout(limits::STOP_GRACE, async { while open.tasks.join_next().await.is_some() {} }).await;
        if drained.is_err() {
            tracing::warn!(connections = open.tasks.len(), "closed HTTP connections that were still busy");
        }
        open.tasks.shutdown().await;
        Ok(())
    }
}

/// Waits before the next try to accept; whether the stop came meanwhile.
pub(crate) async fn pause(stop: Pin<&mut impl Future<Output = ()>>) -> bool {
    timeout(limits::ACCEPT_PAUSE, stop).await.is_ok()
}

impl Listening {
    /// A door without a broker, for tests of what it does with connections.
    #[cfg(test)]
    pub(crate) fn for_tests(connections: Arc<Semaphore>, refusals: Arc<Semaphore>) -> Self {
        let (_, stopping) = watch::channel(false);
        let metrics = HttpMetrics::default();
        Self { router: Router::new(), metrics, connections, refusals, stopping, tasks: JoinSet::new() }
    }

    pub(crate) fn accept(&mut self, stream: TcpStream) {
        // Answers are written whole: waiting for more of them only adds delay.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY");
        }
        match Arc::clone(&self.connections).try_acquire_owned() {
            Ok(permit) => {
                let counted = Counted::new(permit, self.metrics.clone());
                let served = connection::serve(stream, self.router.clone(), self.stopping.clone());
                self.tasks.spawn(async move {
                    served.await;
                    drop(counted);
                });
            }
            Err(_) => self.refuse(stream),
        }
    }

    fn refuse(&mut self, stream: TcpStream) {
        self.metrics.connections_refused.inc();
        self.metrics.answered("none", punctual_broker_api::Code::TooManyConnections.slug());
        // Who comes when even the polite refusals are at their limit is closed without a word.
        if let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() {
            self.tasks.spawn(async move {
                connection::refuse(stream).await;
                drop(permit);
            });
        }
    }
}

/// An open connection: its permit and its place in the gauge.
struct Counted {
    _permit: OwnedSemaphorePermit,
    metrics: HttpMetrics,
}

impl Counted {
    fn new(permit: OwnedSemaphorePermit, metrics: HttpMetrics) -> Self {
        metrics.connections.inc();
        Self { _permit: permit, metrics }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}
