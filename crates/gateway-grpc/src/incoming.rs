//! Accepting: a permit for every connection, a word for those that get none.

use std::{io, sync::Arc};

use futures_util::{FutureExt, Stream, future::BoxFuture, stream};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot, watch},
    time::timeout,
};

use crate::{
    connection::{Admission, Connection, Counted, Peer},
    limits::{ACCEPT_PAUSE, FIRST_BYTES_WAIT_MAX, REFUSAL_LIFETIME, REFUSALS_MAX},
    memory::Memory,
    metrics::GrpcMetrics,
};

/// What accepts.
pub(crate) struct Incoming {
    listener: TcpListener,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    metrics: GrpcMetrics,
    memory: Memory,
    /// Closed when the server is gone, which cuts every connection.
    server: watch::Receiver<()>,
}

impl Incoming {
    pub(crate) fn new(
        listener: TcpListener,
        connections: Arc<Semaphore>,
        metrics: GrpcMetrics,
        memory: Memory,
        server: watch::Receiver<()>,
    ) -> Self {
        Self { listener, connections, refusals: Arc::new(Semaphore::new(REFUSALS_MAX)), metrics, memory, server }
    }

    /// The connections, for ever: a failed accept is logged and followed by a pause, so that a
    /// process without descriptors does not spin.
    pub(crate) fn stream(self) -> impl Stream<Item = io::Result<Connection>> {
        stream::unfold(self, |incoming| async {
            loop {
                match incoming.listener.accept().await {
                    Ok((stream, _)) => {
                        if let Some(connection) = incoming.admit(stream) {
                            return Some((Ok(connection), incoming));
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection at the gRPC door");
                        let _ = timeout(ACCEPT_PAUSE, std::future::pending::<()>()).await;
                    }
                }
            }
        })
    }

    fn admit(&self, stream: TcpStream) -> Option<Connection> {
        // Without it a reply may wait for the acknowledgement of the one before. It fails on a
        // socket that is closed already, which the first read will tell.
        let _ = stream.set_nodelay(true);
        if let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() {
            let (first_bytes, arrived) = oneshot::channel();
            return Some(Connection {
                stream,
                peer: Peer { admission: Admission::Admitted, share: self.memory.share() },
                cut: Some(self.cut(arrived)),
                first_bytes: Some(first_bytes),
                _permit: permit,
                _counted: Some(Counted::new(self.metrics.connections.clone())),
            });
        }
        self.metrics.connections_refused.inc();
        let permit = Arc::clone(&self.refusals).try_acquire_owned().ok()?;
        Some(Connection {
            stream,
            peer: Peer { admission: Admission::Refused, share: self.memory.share() },
            cut: Some(timeout(REFUSAL_LIFETIME, std::future::pending::<()>()).map(|_| ()).boxed()),
            first_bytes: None,
            _permit: permit,
            _counted: None,
        })
    }

    /// Resolves when a connection is to be cut: it says nothing for too long, or the server is gone.
    fn cut(&self, arrived: oneshot::Receiver<()>) -> BoxFuture<'static, ()> {
        let mut server = self.server.clone();
        async move {
            let gone = async { while server.changed().await.is_ok() {} };
            let silent = async {
                if timeout(FIRST_BYTES_WAIT_MAX, arrived).await.is_ok() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = gone => {}
                () = silent => {}
            }
        }
        .boxed()
    }
}
