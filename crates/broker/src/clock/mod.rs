//! The broker's clock: the only place that asks what time it is.
//!
//! Broker time advances by elapsed time and never goes back, not even over a restart
//! (RELIABILITY doctrine: a step of the wall clock neither fires nor freezes the schedule). The
//! wall clock is only compared. After every wake the clock is asked again.

mod boot;
mod elapsed;
mod manual;
mod system;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use punctual_broker_api::{ClockMode, ClockView, DelayMs};
use punctual_core::ShardClock;
use punctual_types::{Now, Time};

pub(crate) use elapsed::Elapsed;
use manual::ManualClock;
use system::SystemClock;

/// A sleep lasts at most this long, however far the deadline: a clock that was slow to tell is
/// asked again within it.
const SLEEP_MAX: DelayMs = DelayMs::from_secs(1);

/// A wall clock further than this from broker time has stepped.
const STEP_MS: i64 = 500;

/// The time that a data directory was last served at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastServed {
    /// Broker time then.
    pub(crate) time: Time,
    /// What the machine's clock said then.
    pub(crate) clock: ShardClock,
}

/// How broker time advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockConfig {
    /// By elapsed time; a start that would jump further ahead than this is held.
    System {
        /// 30 days by default.
        start_jump_max: DelayMs,
    },
    /// Only when told to.
    Manual {
        /// Where it begins in a fresh data directory.
        start: Time,
    },
}

impl Default for ClockConfig {
    fn default() -> Self {
        Self::System { start_jump_max: DelayMs::from_secs(30 * 24 * 3600) }
    }
}

/// A clock of either kind.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// By elapsed time.
    System(Arc<SystemClock>),
    /// By command.
    Manual(Arc<ManualClock>),
}

impl Clock {
    /// Starts the clock where the data directory was last served, or at the wall clock's time when
    /// it is fresh.
    pub(crate) fn start(config: ClockConfig, last: Option<LastServed>) -> Self {
        match config {
            ClockConfig::System { start_jump_max } => Self::System(Arc::new(SystemClock::start(start_jump_max, last))),
            ClockConfig::Manual { start } => {
                Self::Manual(Arc::new(ManualClock::new(last.map_or(start, |last| last.time.max(start)))))
            }
        }
    }

    /// Broker time.
    pub(crate) fn now(&self) -> Now {
        match self {
            Self::System(clock) => clock.now(),
            Self::Manual(clock) => Now::exactly(clock.now()),
        }
    }

    /// What ties broker time to the machine's, to be kept with every commit.
    pub(crate) fn anchor(&self) -> ShardClock {
        match self {
            Self::System(clock) => clock.anchor(),
            Self::Manual(_) => ShardClock::default(),
        }
    }

    /// Sleeps until the deadline, a second, or a change of the clock, whichever comes first. May
    /// wake early: ask again.
    pub(crate) fn wait_until(&self, deadline: Time) -> BoxFuture<'_, ()> {
        match self {
            Self::System(clock) => Box::pin(clock.wait_until(deadline)),
            Self::Manual(clock) => Box::pin(clock.wait_until(deadline)),
        }
    }

    /// Whether the schedule is held: nothing crosses a line.
    pub(crate) fn is_held(&self) -> bool {
        match self {
            Self::System(clock) => clock.is_held(),
            Self::Manual(_) => false,
        }
    }

    /// What is seen of it from outside.
    pub(crate) fn view(&self) -> ClockView {
        let now = self.now().floor;
        let (wall, mode) = match self {
            Self::System(_) => (system::wall(), ClockMode::System),
            Self::Manual(_) => (now, ClockMode::Manual),
        };
        // Both lie before the year 10000, far inside 63 bits.
        let step_ms = wall.unix_ms() as i64 - now.unix_ms() as i64;
        ClockView { now, wall, step_ms, mode, held: self.is_held() }
    }

    /// Looks whether the wall clock has stepped, and tells the log when that begins and ends.
    pub(crate) fn watch_steps(&self) {
        if let Self::System(clock) = self {
            let step_ms = self.view().step_ms;
            clock.note_step(step_ms, step_ms.abs() > STEP_MS);
        }
    }

    /// Takes the wall clock's time, forward only, and ends a hold.
    pub(crate) fn accept(&self) {
        match self {
            Self::System(clock) => clock.accept(),
            Self::Manual(_) => {}
        }
    }
}
