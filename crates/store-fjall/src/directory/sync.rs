//! Syncing what was found before it is believed.
//!
//! A process that died may have written without syncing. What it wrote can be read and yet be
//! lost by the next power cut, so recovery must not act on it before it is safe.

use std::{fs, fs::File, path::Path};

use punctual_store_api::StoreError;

/// Folders with files that fjall syncs before it names them anywhere.
const SYNCED_WHEN_MADE: &str = "tables";

/// Makes a directory's entries durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(|error| failed(path, error))
}

/// Syncs every journal and every small file of a database, and every folder, before the recovery
/// reads them. Tables are left out: fjall syncs one before its manifest names it.
pub(crate) fn sync_found(path: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(path).map_err(|error| failed(path, error))? {
        let entry = entry.map_err(|error| failed(path, error))?;
        let found = entry.path();
        let kind = entry.file_type().map_err(|error| failed(&found, error))?;
        if kind.is_file() {
            File::open(&found).and_then(|file| file.sync_all()).map_err(|error| failed(&found, error))?;
        } else if kind.is_dir() && entry.file_name() == SYNCED_WHEN_MADE {
            sync_directory(&found)?;
        } else if kind.is_dir() {
            sync_found(&found)?;
        }
    }
    sync_directory(path)
}

fn failed(path: &Path, error: std::io::Error) -> StoreError {
    StoreError::failed("syncing", path.display().to_string(), error)
}
