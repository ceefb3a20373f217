//! Bounds of a run.

use std::time::Duration;

/// The longest time that a histogram tells apart; longer ones count as this.
pub const RECORDED_MAX: Duration = Duration::from_secs(3600);
/// How often a run looks whether it is complete.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Producers, that is connections that publish, of one run.
pub const PRODUCERS_MAX: usize = 1 << 12;
