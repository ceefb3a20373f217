//! A clock that stands still until it is told: for users' tests.

use std::sync::Mutex;

use punctual_types::Time;
use tokio::sync::Notify;

/// A clock moved by hand.
#[derive(Debug)]
pub(crate) struct ManualClock {
    now: Mutex<Time>,
    changed: Notify,
}

impl ManualClock {
    /// A clock that shows this time.
    pub(super) fn new(now: Time) -> Self {
        Self { now: Mutex::new(now), changed: Notify::new() }
    }

    pub(super) fn now(&self) -> Time {
        *self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Moves it to a time, forward only.
    pub(crate) fn advance_to(&self, time: Time) {
        let mut now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *now = time.max(*now);
        drop(now);
        self.changed.notify_waiters();
    }

    pub(super) async fn wait_until(&self, deadline: Time) {
        let changed = self.changed.notified();
        if self.now() < deadline {
            changed.await;
        }
    }
}
