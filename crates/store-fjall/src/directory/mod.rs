//! The data directory: what it must look like, its lock, and its first making.
//!
//! ```text
//! DIR/punctual.format   what it is; written once, before anything is stored
//! DIR/punctual.lock     locked by the process that has it open; empty
//! DIR/fjall/            the database; DIR/fjall.new/ while it is being made
//! ```
//! Whatever is refused here is refused before anything is changed.

mod sync;

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use punctual_store_api::{DirectoryFormat, FormatRefused, StoreError, Unusable};

pub(crate) use sync::{sync_directory, sync_found};

use crate::{OpenOptions, limits::FORMAT_FILE_BYTES_MAX};

const STORE: &str = "fjall";
const FORMAT_FILE: &str = DirectoryFormat::FILE;
const FORMAT_FILE_NEW: &str = "punctual.format.new";
const LOCK_FILE: &str = "punctual.lock";
const DATABASE: &str = "fjall";
const DATABASE_NEW: &str = "fjall.new";
/// What may lie in a directory that is still to be made: the traces of a start that was cut off
/// before the format file, and what a fresh file system brings along.
const BEFORE_FORMAT: [&str; 4] = [LOCK_FILE, FORMAT_FILE_NEW, DATABASE_NEW, "lost+found"];

/// A data directory that this process has for itself.
pub(crate) struct DataDirectory {
    path: PathBuf,
    format: DirectoryFormat,
    /// Unlocked by the system when it is closed, whatever happens to the process.
    _lock: File,
}

impl DataDirectory {
    /// Checks and locks a directory, and makes it when it is new or empty.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self, StoreError> {
        assert!(DirectoryFormat::may_have(options.shards_if_new), "{} shards asked for", options.shards_if_new);
        make(path)?;
        let mut format = inspect(path)?;
        let free = free_bytes(path).map_err(|error| unusable(path, "asking for free space", &error))?;
        if free < options.free_bytes_min {
            let detail = format!("{free} bytes are free and {} are needed to start", options.free_bytes_min);
            return Err(StoreError::unusable(shown(path), Unusable::Full, detail));
        }
        let lock = lock(path)?;
        if format.is_none() {
            // Asked again: another process may have made it before we got the lock.
            format = inspect(path)?;
        }
        let format = match format {
            Some(format) => format,
            None => {
                let format = DirectoryFormat { shards: options.shards_if_new, secret: options.secret_if_new };
                write_format(path, format)?;
                format
            }
        };
        Ok(Self { path: path.to_owned(), format, _lock: lock })
    }

    pub(crate) fn format(&self) -> DirectoryFormat {
        self.format
    }

    /// The directory, as messages name it.
    pub(crate) fn shown(&self) -> String {
        shown(&self.path)
    }

    /// Where the database lies.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Whether the database is still to be made. It is made under another name and renamed when
    /// it is whole, so that a start that is cut off leaves nothing half made behind.
    pub(crate) fn lacks_database(&self) -> Result<bool, StoreError> {
        if self.database().is_dir() {
            return Ok(false);
        }
        if self.database_new().is_dir() {
            return Ok(true);
        }
        Err(StoreError::corrupt(self.shown(), format!("it has a format file but no `{DATABASE}` folder")))
    }

    /// Where a database is being made, empty.
    pub(crate) fn empty_database_new(&self) -> Result<PathBuf, StoreError> {
        let new = self.database_new();
        fs::remove_dir_all(&new)
            .and_then(|()| fs::create_dir(&new))
            .map_err(|error| StoreError::failed("making", shown(&new), error))?;
        Ok(new)
    }

    /// Gives a database that was made whole its name.
    pub(crate) fn adopt_database(&self) -> Result<(), StoreError> {
        let failed = |error| StoreError::failed("naming", shown(&self.database()), error);
        fs::rename(self.database_new(), self.database()).map_err(failed)?;
        sync_directory(&self.path)
    }

    fn database_new(&self) -> PathBuf {
        self.path.join(DATABASE_NEW)
    }

    /// Bytes left on the file system.
    pub(crate) fn free_bytes(&self) -> u64 {
        free_bytes(&self.path).unwrap_or(0)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Makes the directory itself when it does not exist.
fn make(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(StoreError::unusable(shown(path), Unusable::Access, "it is not a directory")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(path).map_err(|error| unusable(path, "making it", &error))?;
            // Its entry must be as durable as what will be written into it.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            sync_directory(parent)
        }
        Err(error) => Err(unusable(path, "looking at it", &error)),
    }
}

/// The format of a directory; `None` when it is still to be made.
fn inspect(path: &Path) -> Result<Option<DirectoryFormat>, StoreError> {
    if let Some(format) = read_format(path)? {
        return Ok(Some(format));
    }
    let entries = fs::read_dir(path).map_err(|error| unusable(path, "listing it", &error))?;
    for entry in entries {
        let name = entry.map_err(|error| unusable(path, "listing it", &error))?.file_name();
        if !BEFORE_FORMAT.iter().any(|known| name == *known) {
            let detail = format!("it holds `{}` and no `{FORMAT_FILE}`, so it is something else's", name.display());
            return Err(StoreError::unusable(shown(path), Unusable::Format, detail));
        }
    }
    Ok(None)
}

/// Reads the format file of a directory; `None` when there is none.
fn read_format(path: &Path) -> Result<Option<DirectoryFormat>, StoreError> {
    let file = path.join(FORMAT_FILE);
    let opened = match File::open(&file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(path, "opening its format file", &error)),
    };
    let mut bytes = Vec::new();
    opened
        .take(FORMAT_FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| unusable(path, "reading its format file", &error))?;
    match DirectoryFormat::parse(&bytes, STORE) {
        Ok(format) => Ok(Some(format)),
        Err(FormatRefused::Foreign(detail)) => Err(StoreError::unusable(shown(path), Unusable::Format, detail)),
        Err(FormatRefused::Damaged(detail)) => Err(StoreError::corrupt(shown(&file), detail)),
    }
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let lock = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path.join(LOCK_FILE))
        .map_err(|error| unusable(path, "opening its lock file", &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::unusable(shown(path), Unusable::Locked, "another process has it open"))
        }
        Err(TryLockError::Error(error)) => Err(unusable(path, "locking it", &error)),
    }
}

/// Writes the format file and makes it durable, after the place in which the database is made:
/// a format file with neither `fjall` nor `fjall.new` beside it means that the data is gone.
fn write_format(path: &Path, format: DirectoryFormat) -> Result<(), StoreError> {
    let new = path.join(DATABASE_NEW);
    match fs::create_dir(&new) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unusable(path, "making `fjall.new`", &error)),
    }
    sync_directory(path)?;
    let (from, to) = (path.join(FORMAT_FILE_NEW), path.join(FORMAT_FILE));
    let written = || -> io::Result<()> {
        let mut file = File::create(&from)?;
        file.write_all(format.to_text(STORE).as_bytes())?;
        file.sync_all()?;
        fs::rename(&from, &to)
    };
    written().map_err(|error| unusable(path, "writing its format file", &error))?;
    sync_directory(path)
}

fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// What an error of the system says about a directory that is being opened.
pub(crate) fn unusable(path: &Path, doing: &'static str, error: &io::Error) -> StoreError {
    let reason = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Unusable::Full,
        _ => Unusable::Access,
    };
    StoreError::unusable(shown(path), reason, format!("{doing}: {error}"))
}
