//! Where a message stands on its timeline, and marks that tie positions to offsets.

use crate::{Offset, Seq, Time};

/// Where a message stands on its timeline: due time first, sequence number second.
///
/// Order is delivery order. A sequence number is given once per shard, so no two messages of a
/// shard share a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// When the message is due.
    pub due: Time,
    /// Which of those due in that millisecond it is.
    pub seq: Seq,
}

impl Position {
    /// Before every message.
    pub const MIN: Self = Self { due: Time::ZERO, seq: Seq(0) };
    /// After every message.
    pub const MAX: Self = Self { due: Time::MAX, seq: Seq(u64::MAX) };

    /// The position of message `seq` due at `due`.
    #[must_use]
    pub const fn new(due: Time, seq: Seq) -> Self {
        Self { due, seq }
    }

    /// Before every message due at `due` (no message has sequence number 0).
    #[must_use]
    pub const fn before(due: Time) -> Self {
        Self { due, seq: Seq(0) }
    }

    /// After every message due at `due`.
    #[must_use]
    pub const fn after(due: Time) -> Self {
        Self { due, seq: Seq(u64::MAX) }
    }

    /// Bytes of the stored form.
    pub const BYTES: usize = 6 + 8;

    /// The stored form, big-endian. A due time fits into 48 bits because [`Time::MAX`] does.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..6].copy_from_slice(&self.due.unix_ms().to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&self.seq.0.to_be_bytes());
        bytes
    }

    /// The position of a stored form; `None` when it is not one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (due, seq) = bytes.split_first_chunk::<6>()?;
        let mut wide = [0; 8];
        wide[2..].copy_from_slice(due);
        let due = Time::from_unix_ms(u64::from_be_bytes(wide))?;
        Some(Self { due, seq: Seq(u64::from_be_bytes(seq.try_into().ok()?)) })
    }
}

/// Ties a position to an offset: the first record *after* `position` has `offset`.
///
/// The now-line, the floor and the anchors between them are all marks. Behind the line nothing is
/// inserted or removed, so counting records from any mark always gives the same offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The offset of the first record after `position`.
    pub offset: Offset,
    /// The last position that this mark has passed.
    pub position: Position,
}
