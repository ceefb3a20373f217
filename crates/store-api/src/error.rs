//! What can go wrong in a store.

use std::sync::Arc;

/// Why a store did not do what it was asked.
///
/// Errors are cheap to clone because one failure is told to everyone who waits.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A write or sync failed. Final: the store is latched and answers every later call with the
    /// first such error.
    #[error("store failed while {doing} `{what}`: {source}")]
    Failed {
        /// What was being done, as in "syncing".
        doing: &'static str,
        /// The file or directory.
        what: String,
        /// What the operating system or the library said.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// Stored bytes are not what was written.
    #[error("stored data in `{what}` is damaged: {detail}")]
    Corrupt {
        /// The file, keyspace or key.
        what: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The data directory cannot be used as it is; nothing in it was changed.
    #[error("cannot open data directory `{path}`: {detail}")]
    Unusable {
        /// The directory.
        path: String,
        /// Why.
        detail: String,
        /// Which kind of reason.
        reason: Unusable,
    },
}

/// Why a data directory cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Another process has it open.
    Locked,
    /// It was written by a newer version, or by something else.
    Format,
    /// It cannot be written: read-only, no permission, not a directory.
    Access,
    /// There is no room to start.
    Full,
}

impl StoreError {
    /// A failed write or sync.
    pub fn failed(
        doing: &'static str,
        what: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Failed { doing, what: what.into(), source: Arc::new(source) }
    }

    /// Damaged bytes.
    pub fn corrupt(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), detail: detail.into() }
    }

    /// An unusable directory.
    pub fn unusable(path: impl Into<String>, reason: Unusable, detail: impl Into<String>) -> Self {
        Self::Unusable { path: path.into(), detail: detail.into(), reason }
    }
}
