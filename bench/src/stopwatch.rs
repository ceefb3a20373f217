//! This machine's monotonic clock, as a meter of a run.

use std::time::{Duration, Instant};

/// Microseconds since a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Micros(pub(crate) u64);

impl Micros {
    /// How long this is after an earlier time; zero when it is not.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// One meter for all tasks of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "a meter of elapsed time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    #[allow(clippy::disallowed_methods, reason = "a meter of elapsed time")]
    pub(crate) fn now(self) -> Micros {
        Micros(u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Waits until the meter shows at least this.
    pub(crate) async fn wait_until(self, time: Micros) {
        loop {
            let now = self.now();
            if now >= time {
                return;
            }
            pause(time.since(now)).await;
        }
    }
}

/// Lets time pass.
#[allow(clippy::disallowed_methods, reason = "the load's own beat, not broker time")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
