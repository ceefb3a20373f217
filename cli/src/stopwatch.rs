//! Elapsed time on this machine: for rates and pauses of the command line itself, never for
//! broker time.

use std::time::{Duration, Instant};

/// Runs from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[allow(clippy::disallowed_methods, reason = "a meter of elapsed time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run.
    #[allow(clippy::disallowed_methods, reason = "a meter of elapsed time")]
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Lets time pass before something is tried again.
#[allow(clippy::disallowed_methods, reason = "a back-off, or a beat of our own, waits for nothing but time")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
