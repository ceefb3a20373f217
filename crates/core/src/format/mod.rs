//! The bytes in which a shard keeps what it knows: one file per kind, each with a test of the
//! bytes. docs/formats.md describes them; what is written here lies on users' disks.

pub mod expiry_mark;
pub mod failure;
pub mod fields;
pub mod partition_totals;
pub mod reader_state;
pub mod record;
pub mod shard_meta;
pub mod state_key;
pub mod subscription_totals;
pub mod timeline_state;
pub mod transfer;

pub use expiry_mark::ExpiryMark;
pub use record::{DeadLetter, LetterSource, MessageRecord, Prepared};
pub use state_key::StateKey;

/// Stored bytes that are not what this version writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read stored {what}: {detail}")]
pub struct FormatError {
    /// Which kind of bytes.
    pub what: &'static str,
    /// What is wrong with them.
    pub detail: String,
}

impl FormatError {
    pub(crate) fn new(what: &'static str, detail: impl Into<String>) -> Self {
        Self { what, detail: detail.into() }
    }
}
