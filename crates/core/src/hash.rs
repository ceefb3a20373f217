//! Handles, hashed for their index.

use std::hash::Hasher;

use punctual_types::HashBits;
use siphasher::sip128::{Hasher128, SipHasher24};

/// Hashes handles with a secret of the data directory, so that nobody can choose handles that meet.
#[derive(Clone, Copy)]
pub struct HandleHash {
    secret: [u8; 16],
}

impl std::fmt::Debug for HandleHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HandleHash(..)")
    }
}

impl HandleHash {
    /// A hash under this secret.
    #[must_use]
    pub const fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// The hash of a caller's own handle.
    #[must_use]
    pub fn of(&self, handle: &[u8]) -> HashBits {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write(handle);
        hasher.finish128().as_bytes()
    }

    /// Which of so many partitions a handle belongs to.
    #[must_use]
    pub fn partition(&self, handle: &[u8], partitions: u16) -> u16 {
        let [a, b, c, d, e, f, g, h, ..] = self.of(handle);
        let bits = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        u16::try_from(bits % u64::from(partitions.max(1))).unwrap_or(0)
    }
}
