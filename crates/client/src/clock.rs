//! The time a client goes by: how long it waits, how long a handler took, how late a message came.
//!
//! Nothing here decides when a message is due: that is the broker's.

use std::{
    future::Future,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use punctual_broker_api::{BoxFuture, Time};

/// The time a client goes by. [`SystemClock`] unless a test gives a [`crate::Worker`] its own.
pub trait Clock: Send + Sync + 'static {
    /// Time since some moment that does not move. Never goes back.
    fn elapsed(&self) -> Duration;

    /// The time of day, to compare due times with; it may step.
    fn wall(&self) -> Time;

    /// Ends when so much time has passed.
    fn sleep(&self, length: Duration) -> BoxFuture<'static, ()>;
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the home of the client's own time, outside the broker")]
        let start = Instant::now();
        Self { start }
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        #[expect(clippy::disallowed_methods, reason = "the home of the client's own time, outside the broker")]
        self.start.elapsed()
    }

    fn wall(&self) -> Time {
        #[expect(clippy::disallowed_methods, reason = "lateness is seen from outside: no broker time is at hand")]
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_millis()).ok().and_then(Time::from_unix_ms).unwrap_or(Time::MAX)
    }

    fn sleep(&self, length: Duration) -> BoxFuture<'static, ()> {
        #[expect(clippy::disallowed_methods, reason = "the home of the client's own waits; the longest is a lease")]
        Box::pin(tokio::time::sleep(length))
    }
}

/// What the work answers, or `None` when it takes longer than that.
pub(crate) async fn within<T>(clock: &dyn Clock, length: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(length) => None,
    }
}
