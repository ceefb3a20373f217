//! What a broker is opened with.

use std::path::PathBuf;

use punctual_broker_api::{DelayMs, Limits, Time};
use punctual_types::limits::SHARDS_DEFAULT;

/// Where messages are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreChoice {
    /// In memory: gone when the broker is.
    #[default]
    Memory,
    /// In a directory, made when it does not exist.
    Directory(PathBuf),
}

/// How broker time advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// By elapsed time.
    System {
        /// A start that would jump further ahead than this is held until the clock is accepted.
        start_jump_max: DelayMs,
    },
    /// Only when told to.
    Manual {
        /// Where it begins in a fresh directory.
        start: Time,
    },
}

impl Default for ClockChoice {
    fn default() -> Self {
        Self::System { start_jump_max: DelayMs::from_secs(30 * 24 * 3600) }
    }
}

impl ClockChoice {
    /// A manual clock that begins on 2030-01-01T00:00:00Z, so that tests read the same every day.
    #[must_use]
    pub fn manual() -> Self {
        Self::Manual { start: Time::from_unix_ms(1_893_456_000_000).unwrap_or_default() }
    }
}

/// What a broker is opened with. The default keeps everything in memory and goes by elapsed time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where messages are kept.
    pub store: StoreChoice,
    /// How broker time advances.
    pub clock: ClockChoice,
    /// Shards of a fresh directory: 1 to 1024, fixed when it is made; 16 by default.
    pub shards_if_new: u16,
    /// Threads that run the shards; as many as the machine has cores when `None`.
    pub workers: Option<usize>,
    /// The limits in force.
    pub limits: Limits,
    /// Bytes of the store's block cache.
    pub cache_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            store: StoreChoice::default(),
            clock: ClockChoice::default(),
            shards_if_new: SHARDS_DEFAULT,
            workers: None,
            limits: Limits::default(),
            cache_bytes: 64 << 20,
        }
    }
}
