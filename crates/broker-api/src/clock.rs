//! The broker's clock, as seen from outside.

use punctual_types::Time;

/// How broker time advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockMode {
    /// By elapsed time.
    System,
    /// Only when told to, for tests.
    Manual,
}

impl ClockMode {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Manual => "manual",
        }
    }
}

/// The clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockView {
    /// Broker time.
    pub now: Time,
    /// The machine's wall clock.
    pub wall: Time,
    /// Wall clock minus broker time in milliseconds; over 500 either way is a step.
    pub step_ms: i64,
    /// How broker time advances.
    pub mode: ClockMode,
    /// Whether the schedule is held because the clock jumped too far ahead at start.
    pub held: bool,
}
