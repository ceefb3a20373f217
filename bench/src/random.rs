//! Random numbers from a seed: the same seed gives the same load. SplitMix64, by Sebastiano Vigna
//! (public domain), <https://prng.di.unimi.it/splitmix64.c>.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0 ≤ x < 1.
    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits are what an f64 tells apart below 1.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
