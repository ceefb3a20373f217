//! Elapsed time, to hold suites to their budgets. The one clock of xtask.

use std::time::{Duration, Instant};

/// Runs from its making.
pub(crate) struct Stopwatch {
    started: Instant,
}

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "a meter of elapsed time, far from the broker's clock")]
    pub(crate) fn start() -> Self {
        Self { started: Instant::now() }
    }

    #[allow(clippy::disallowed_methods, reason = "a meter of elapsed time, far from the broker's clock")]
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
