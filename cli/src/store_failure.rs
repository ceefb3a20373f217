//! What a store's error means for the end of the process.

use punctual_store_api::{StoreError, Unusable};

use crate::{exit::Exit, failure::Failure};

/// The exit code and the sentence for an error of the store.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let (exit, hint) = match error {
        StoreError::Failed { .. } => (
            Exit::StoreFailed,
            "nothing was acknowledged after the failure; look at the disk, then start again: the log is replayed",
        ),
        StoreError::Corrupt { .. } => {
            (Exit::DataCorrupt, "nothing was changed; restore a backup, and look at the disk that holds the directory")
        }
        StoreError::Unusable { reason, .. } => match reason {
            Unusable::Locked => (Exit::DataLocked, "stop the other process, or give this one another --data"),
            Unusable::Format => (Exit::DataFormat, "start the version that wrote it, or give another --data"),
            Unusable::Access => (Exit::DataAccess, "give --data a directory that this user may write"),
            Unusable::Full => (Exit::DataFull, "make room on the file system that holds the directory"),
        },
    };
    Failure::new(exit, error.to_string()).with_hint(hint)
}
