//! Numbers from a seed: SplitMix64, whose every seed is a good one.

/// A source of numbers that is the same for the same seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below a bound that is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
