//! Ids of requests, to find one again in the log: the caller's own, or one of ours.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of an id that is taken over from a request.
pub const REQUEST_ID_BYTES_MAX: usize = 128;
/// The header, or metadata of gRPC, that carries it both ways.
pub const REQUEST_ID_HEADER: &str = "x-request-id";

/// Makes ids that differ within a process and, by its seed, between processes.
#[derive(Debug)]
pub struct RequestIds {
    seed: u64,
    made: AtomicU64,
}

impl RequestIds {
    /// Ids that follow from a seed, which should be another in every process.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self { seed, made: AtomicU64::new(0) }
    }

    /// The request's own id when it is one that may stand in logs and headers, else a new one.
    #[must_use]
    pub fn of(&self, theirs: Option<&str>) -> String {
        theirs.filter(|id| sane(id)).map_or_else(|| self.next(), str::to_owned)
    }

    fn next(&self) -> String {
        // A Weyl sequence with the finaliser of SplitMix64: no id twice before 2^64 of them.
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let mut mixed = self.seed.wrapping_add(made.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("{:016x}", mixed ^ (mixed >> 31))
    }
}

/// Ids go into logs and headers as they are: nothing there may end a line or a quotation.
fn sane(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(&byte);
    !id.is_empty() && id.len() <= REQUEST_ID_BYTES_MAX && id.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_ids_differ_and_follow_the_seed() {
        let (one, again, other) = (RequestIds::seeded(1), RequestIds::seeded(1), RequestIds::seeded(2));
        let (first, second) = (one.next(), one.next());
        assert_ne!(first, second);
        assert_eq!(first, again.next());
        assert_ne!(first, other.next());
    }

    #[test]
    fn only_a_sane_id_is_taken_over() {
        for id in ["a", "0af7651916cd43dd-b7ad", "web/7:1"] {
            assert!(sane(id), "{id}");
        }
        for id in ["", "a b", "a\"b", "ü", "a\\b", &"x".repeat(REQUEST_ID_BYTES_MAX + 1)] {
            assert!(!sane(id), "{id}");
        }
    }
}
