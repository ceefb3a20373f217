//! The one place that rolls dice.

use std::sync::atomic::{AtomicU64, Ordering};

/// Random numbers from a seed: the same seed gives the same numbers.
#[derive(Debug)]
pub(crate) struct Random {
    state: AtomicU64,
}

impl Random {
    /// Numbers from this seed.
    pub(crate) const fn from_seed(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// Numbers that nobody can foresee.
    pub(crate) fn from_system() -> Result<Self, getrandom::Error> {
        let [a, b, c, d, e, f, g, h, ..] = system_secret()?;
        Ok(Self::from_seed(u64::from_le_bytes([a, b, c, d, e, f, g, h])))
    }

    /// The next 64 random bits: SplitMix64, which is enough for jitter and never used for secrets.
    pub(crate) fn bits(&self) -> u64 {
        let mut z = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A secret from the operating system, for a fresh data directory.
///
/// # Errors
/// When the operating system has none to give.
pub fn system_secret() -> Result<[u8; 16], getrandom::Error> {
    let mut secret = [0; 16];
    #[expect(clippy::disallowed_methods, reason = "the home of randomness")]
    getrandom::fill(&mut secret)?;
    Ok(secret)
}
