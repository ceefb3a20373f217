//! A connection: the socket, the permit it holds, and the reasons to cut it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, oneshot},
};
use tonic::transport::server::Connected;

use crate::memory::Share;

/// Whether a connection has a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It holds one of the broker's connections.
    Admitted,
    /// The broker had as many as it may: it is only told so.
    Refused,
}

/// What every call is told of the connection that it arrives on.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) admission: Admission,
    /// The memory that the connection may take.
    pub(crate) share: Share,
}

/// Counts a connection for as long as it lives.
pub(crate) struct Counted(Gauge);

impl Counted {
    pub(crate) fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// An accepted connection.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: Peer,
    /// Resolves when the connection is to be cut; `None` once it has.
    pub(crate) cut: Option<BoxFuture<'static, ()>>,
    /// Told when the first bytes arrive.
    pub(crate) first_bytes: Option<oneshot::Sender<()>>,
    /// Held until the connection closes.
    pub(crate) _permit: OwnedSemaphorePermit,
    pub(crate) _counted: Option<Counted>,
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let is_cut = self.cut.as_mut().is_none_or(|cut| cut.as_mut().poll(cx).is_ready());
        if is_cut {
            self.cut = None;
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before
            && let Some(first_bytes) = self.first_bytes.take()
        {
            // Nobody listens any more when the connection is about to be cut.
            let _ = first_bytes.send(());
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
