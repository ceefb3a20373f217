//! Random bits for jitter and for trace ids; nothing secret rests on them.

use std::hash::{BuildHasher, Hasher, RandomState};

/// 64 random bits. Every state hashes under a key of its own, drawn from the system once a thread
/// and counted up from there, so that no call can fail or needs a lock.
pub(crate) fn bits() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn bits_do_not_repeat_and_every_bit_is_set_about_half_the_time() {
        let drawn: BTreeSet<u64> = (0..4096).map(|_| bits()).collect();
        assert_eq!(drawn.len(), 4096);
        for bit in 0..64 {
            let set = drawn.iter().filter(|bits| *bits >> bit & 1 == 1).count();
            assert!((1700..2400).contains(&set), "bit {bit} is set in {set} of 4096");
        }
    }
}
