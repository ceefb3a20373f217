//! A connection whose peer must take what it is sent.
//!
//! A peer that asks and then reads nothing would hold its answer in memory for ever; after
//! [`limits::WRITE_STALL`] without a byte taken the write fails and the connection ends.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

use crate::limits;

/// A stream that gives up on a write that stands still.
pub(crate) struct StallGuard<S> {
    stream: S,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> StallGuard<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self { stream, waiting: None }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let waiting = self.waiting.get_or_insert_with(patience);
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing of what it is sent")))
    }
}

#[allow(clippy::disallowed_methods, reason = "elapsed time of one connection, which decides no due time and no lease")]
fn patience() -> Pin<Box<Sleep>> {
    Box::pin(tokio::time::sleep(limits::WRITE_STALL))
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    // The runtime's clock stands still and jumps to the next timer when nothing else is to be done.

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_takes_fails_and_one_that_is_taken_slowly_does_not() {
        let (ours, mut theirs) = tokio::io::duplex(10);
        let mut guarded = StallGuard::new(ours);
        let taking = tokio::spawn(async move {
            let mut byte = [0];
            for _ in 0..30 {
                // Nearly the whole of the patience for each byte.
                let never = std::future::pending::<()>();
                let late = limits::WRITE_STALL - std::time::Duration::from_secs(1);
                assert!(tokio::time::timeout(late, never).await.is_err());
                theirs.read_exact(&mut byte).await.expect("a byte");
            }
            theirs
        });
        guarded.write_all(&[7; 40]).await.expect("taken, if slowly");
        let _theirs = taking.await.expect("no panic");
        let error = guarded.write_all(&[7; 20]).await.expect_err("nobody reads any more");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
