//! A clock that is moved by hand.

use std::{
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use punctual_client::{
    Clock,
    api::{BoxFuture, DelayMs, Time},
};
use tokio::{
    sync::{Notify, oneshot},
    time::timeout,
};

use super::LONG;

/// Where the embedded broker's manual clock begins, so that lateness starts at nothing.
const START_UNIX_MS: u64 = 1_893_456_000_000;

#[derive(Default)]
pub(crate) struct ManualClock {
    state: Mutex<State>,
    asleep: Notify,
}

#[derive(Default)]
struct State {
    now: Duration,
    sleepers: Vec<Sleeper>,
}

struct Sleeper {
    until: Duration,
    wake: oneshot::Sender<()>,
}

impl ManualClock {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Moves on, and wakes who slept until then.
    pub(crate) fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.now += by;
        let now = state.now;
        for sleeper in state.sleepers.extract_if(.., |sleeper| sleeper.until <= now) {
            let _ = sleeper.wake.send(());
        }
    }

    /// Returns when somebody sleeps for exactly so long from now.
    pub(crate) async fn sleeper(&self, length: Duration) {
        timeout(LONG, self.asleep_for(length)).await.expect("somebody sleeps");
    }

    async fn asleep_for(&self, length: Duration) {
        loop {
            let changed = self.asleep.notified();
            let until = self.state().now + length;
            if self.state().sleepers.iter().any(|sleeper| sleeper.until == until && !sleeper.wake.is_closed()) {
                return;
            }
            changed.await;
        }
    }
}

impl Clock for ManualClock {
    fn elapsed(&self) -> Duration {
        self.state().now
    }

    fn wall(&self) -> Time {
        let since = DelayMs::from_ms(self.elapsed().as_millis().try_into().expect("a short test"));
        Time::from_unix_ms(START_UNIX_MS).expect("a time").saturating_add(since)
    }

    fn sleep(&self, length: Duration) -> BoxFuture<'static, ()> {
        let (wake, woken) = oneshot::channel();
        let mut state = self.state();
        let until = state.now + length;
        if length.is_zero() {
            let _ = wake.send(());
        } else {
            state.sleepers.push(Sleeper { until, wake });
            self.asleep.notify_one();
        }
        Box::pin(async {
            let _ = woken.await;
        })
    }
}
