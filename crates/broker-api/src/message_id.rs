//! The id of a message, as callers hold it.

use std::{fmt, sync::Arc};

/// An opaque, URL-safe id of at most 64 characters. It stays the same over retries, a reschedule,
/// dead-lettering and redrive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageId(Arc<str>);

impl MessageId {
    /// Takes any text for an id. Whether it is one, the broker tells: it answers `not_found` to
    /// what it never gave out.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
