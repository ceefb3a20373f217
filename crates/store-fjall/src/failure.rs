//! What fjall's errors mean here.

use punctual_store_api::{StoreError, Unusable};

/// What an error while reading means: damaged bytes, or a device that does not answer. Reads do
/// not latch: nothing was promised that they could break.
pub(crate) fn reading(what: &str, error: fjall::Error) -> StoreError {
    if is_damage(&error) {
        StoreError::corrupt(what, error.to_string())
    } else {
        StoreError::failed("reading", what, error)
    }
}

/// What an error while opening a database means.
pub(crate) fn opening(directory: &str, database: &str, error: fjall::Error) -> StoreError {
    match error {
        fjall::Error::Locked => {
            StoreError::unusable(directory, Unusable::Locked, "another process has its database open")
        }
        fjall::Error::InvalidVersion(version) => {
            let detail = format!("its database was made by another version of fjall: {version:?}");
            StoreError::unusable(directory, Unusable::Format, detail)
        }
        error if is_damage(&error) => StoreError::corrupt(database, error.to_string()),
        fjall::Error::Io(error) => super::directory::unusable(directory.as_ref(), "opening its database", &error),
        error => StoreError::failed("opening", database, error),
    }
}

fn is_damage(error: &fjall::Error) -> bool {
    match error {
        fjall::Error::Storage(fjall::LsmError::Io(_)) => false,
        fjall::Error::Storage(_)
        | fjall::Error::JournalRecovery(_)
        | fjall::Error::Decompress(_)
        | fjall::Error::InvalidTrailer
        | fjall::Error::InvalidTag(_)
        | fjall::Error::Unrecoverable => true,
        _ => false,
    }
}
