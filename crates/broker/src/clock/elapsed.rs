//! Measuring how long something took. Nothing is decided by it.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment, to measure from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elapsed {
    begun: Timespec,
}

impl Elapsed {
    pub(crate) fn begin() -> Self {
        Self { begun: clock_gettime(ClockId::Monotonic) }
    }

    /// Seconds since.
    pub(crate) fn seconds(self) -> f64 {
        let now = clock_gettime(ClockId::Monotonic);
        (now.tv_sec - self.begun.tv_sec) as f64 + (now.tv_nsec - self.begun.tv_nsec) as f64 / 1e9
    }
}
