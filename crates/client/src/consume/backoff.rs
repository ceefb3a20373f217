//! How long to wait before the next try.

use std::time::Duration;

use crate::limits::{BACKOFF_FIRST, BACKOFF_MAX};

/// Exponential back-off with full jitter: a wait is drawn evenly from nothing to a ceiling that
/// doubles from try to try, up to a bound. Full jitter spreads a thousand clients that lost the
/// same broker best, as each wait is independent of when the loss was.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// The wait before the next try, drawn with these random bits.
    pub(crate) fn next(&mut self, bits: u64) -> Duration {
        let doubled = 2u32.checked_pow(self.tries).and_then(|factor| BACKOFF_FIRST.checked_mul(factor));
        let ceiling = doubled.unwrap_or(BACKOFF_MAX).min(BACKOFF_MAX);
        self.tries = self.tries.saturating_add(1);
        ceiling.mul_f64(bits as f64 / u64::MAX as f64)
    }

    /// It worked: the next failure is the first again.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_doubles_to_its_bound_and_the_wait_is_anywhere_below() {
        let mut backoff = Backoff::default();
        let ceilings: Vec<u128> = (0..12).map(|_| backoff.next(u64::MAX).as_millis()).collect();
        assert_eq!(ceilings, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000]);
        assert_eq!(backoff.next(0), Duration::ZERO);
        assert_eq!(backoff.next(u64::MAX / 4).as_secs_f64().round(), 8.0);
    }

    #[test]
    fn it_goes_on_for_ever_and_begins_anew_after_a_success() {
        let mut backoff = Backoff { tries: u32::MAX };
        assert_eq!(backoff.next(u64::MAX), BACKOFF_MAX);
        assert_eq!(backoff.next(u64::MAX), BACKOFF_MAX);
        backoff.reset();
        assert_eq!(backoff.next(u64::MAX), BACKOFF_FIRST);
    }
}
