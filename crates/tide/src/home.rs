//! The data directory: what it must look like, its lock, and its first making.
//!
//! ```text
//! DIR/punctual.format    what it is; written once, before anything is answered
//! DIR/punctual.lock      locked by the process that has it open; empty
//! DIR/punctual.making    there while a directory is being made: nothing in it counts yet
//! DIR/journal.*          the journal's segments
//! ```
//! Whatever is refused here is refused before anything is changed.

use std::{
    io::{self, ErrorKind},
    sync::Arc,
};

use punctual_store_api::{DirectoryFormat, FormatRefused, StoreError, Unusable};

use crate::{
    OpenOptions,
    journal::SegmentNumber,
    limits::FORMAT_FILE_BYTES_MAX,
    vfs::{Lock, Vfs, read_all},
};

const STORE: &str = "tide";
const FORMAT_FILE: &str = DirectoryFormat::FILE;
const FORMAT_FILE_NEW: &str = "punctual.format.new";
const LOCK_FILE: &str = "punctual.lock";
const MAKING: &str = "punctual.making";
/// What a fresh file system brings along.
const LOST_AND_FOUND: &str = "lost+found";

/// A data directory that this process has for itself.
pub(crate) struct Home {
    vfs: Arc<dyn Vfs>,
    format: DirectoryFormat,
    /// Whether its making is still to be ended, by [`Self::adopt`].
    is_in_making: bool,
    _lock: Lock,
}

impl Home {
    /// Checks and locks a directory.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, options: &OpenOptions) -> Result<Self, StoreError> {
        assert!(DirectoryFormat::may_have(options.shards_if_new), "{} shards asked for", options.shards_if_new);
        let vfs = vfs.clone();
        inspect(&*vfs)?;
        let free = vfs.free_bytes().map_err(|error| unusable(&vfs.shown(), "asking for free space", &error))?;
        if free < options.free_bytes_min {
            let detail = format!("{free} bytes are free and {} are needed to start", options.free_bytes_min);
            return Err(StoreError::unusable(vfs.shown(), Unusable::Full, detail));
        }
        let lock = lock(&*vfs)?;
        // Asked again: another process may have made it before we got the lock.
        let found = inspect(&*vfs)?;
        if found.is_none() {
            begin_making(&*vfs)?;
        }
        // Also with a format file: a sync of its name may have failed, and then it would not last.
        let names = vfs.list().map_err(|error| unusable(&vfs.shown(), "listing it", &error))?;
        let is_in_making = names.iter().any(|name| name == MAKING);
        let format = found.unwrap_or(DirectoryFormat { shards: options.shards_if_new, secret: options.secret_if_new });
        Ok(Self { vfs, format, is_in_making, _lock: lock })
    }

    /// Locks a directory that is there and changes nothing in it.
    pub(crate) fn open_to_look(vfs: &Arc<dyn Vfs>) -> Result<Self, StoreError> {
        let format = inspect(&**vfs)?
            .ok_or_else(|| StoreError::unusable(vfs.shown(), Unusable::Format, format!("it has no `{FORMAT_FILE}`")))?;
        let lock = lock(&**vfs)?;
        Ok(Self { vfs: vfs.clone(), format, is_in_making: false, _lock: lock })
    }

    pub(crate) fn format(&self) -> DirectoryFormat {
        self.format
    }

    /// Writes the format file of a new directory: from now on what it holds counts.
    pub(crate) fn adopt(&self) -> Result<(), StoreError> {
        let vfs = &*self.vfs;
        if self.is_in_making {
            let written = || -> io::Result<()> {
                remove_if_there(vfs, FORMAT_FILE_NEW)?;
                let text = self.format.to_text(STORE);
                let file = vfs.create(FORMAT_FILE_NEW, text.len() as u64)?;
                file.write_at(text.as_bytes(), 0)?;
                file.sync()?;
                vfs.rename(FORMAT_FILE_NEW, FORMAT_FILE)?;
                vfs.sync_directory()
            };
            written().map_err(|error| unusable(&vfs.shown(), "writing its format file", &error))?;
        }
        // Only now: until the format file is durable, this is what says that nothing counts.
        remove_if_there(vfs, MAKING).map_err(|error| unusable(&vfs.shown(), "making it", &error))
    }
}

fn lock(vfs: &dyn Vfs) -> Result<Lock, StoreError> {
    vfs.lock(LOCK_FILE).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => StoreError::unusable(vfs.shown(), Unusable::Locked, "another process has it open"),
        _ => unusable(&vfs.shown(), "locking it", &error),
    })
}

/// The format of a directory; `None` when it is still to be made.
fn inspect(vfs: &dyn Vfs) -> Result<Option<DirectoryFormat>, StoreError> {
    let names = vfs.list().map_err(|error| unusable(&vfs.shown(), "listing it", &error))?;
    let has = |name: &str| names.iter().any(|found| found == name);
    if has(FORMAT_FILE) {
        let format = read_format(vfs)?;
        if !names.iter().any(|name| SegmentNumber::of_file(name).is_some()) {
            return Err(StoreError::corrupt(vfs.shown(), "it has a format file but no journal"));
        }
        return Ok(Some(format));
    }
    let is_ours = |name: &str| {
        let is_small = [LOCK_FILE, MAKING, LOST_AND_FOUND].contains(&name);
        is_small || has(MAKING) && (name == FORMAT_FILE_NEW || SegmentNumber::of_file(name).is_some())
    };
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(None),
        Some(name) => {
            let detail = format!("it holds `{name}` and no `{FORMAT_FILE}`, so it is something else's");
            Err(StoreError::unusable(vfs.shown(), Unusable::Format, detail))
        }
    }
}

fn read_format(vfs: &dyn Vfs) -> Result<DirectoryFormat, StoreError> {
    let bytes = vfs.open(FORMAT_FILE).and_then(|file| read_all(&file, FORMAT_FILE_BYTES_MAX));
    let bytes = bytes.map_err(|error| unusable(&vfs.shown(), "reading its format file", &error))?;
    DirectoryFormat::parse(&bytes, STORE).map_err(|refused| match refused {
        FormatRefused::Foreign(detail) => StoreError::unusable(vfs.shown(), Unusable::Format, detail),
        FormatRefused::Damaged(detail) => StoreError::corrupt(FORMAT_FILE, detail),
    })
}

/// Clears away what a start that was cut off has left.
fn begin_making(vfs: &dyn Vfs) -> Result<(), StoreError> {
    let made = || -> io::Result<()> {
        let names = vfs.list()?;
        // Made anew, so that our own sync makes it durable.
        remove_if_there(vfs, MAKING)?;
        vfs.create(MAKING, 0)?;
        vfs.sync_directory()?;
        for name in names.iter().filter(|name| SegmentNumber::of_file(name).is_some()) {
            vfs.remove(name)?;
        }
        vfs.sync_directory()
    };
    made().map_err(|error| unusable(&vfs.shown(), "making it", &error))
}

fn remove_if_there(vfs: &dyn Vfs, name: &str) -> io::Result<()> {
    match vfs.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What an error of the system says about a directory that is being opened.
pub(crate) fn unusable(shown: &str, doing: &'static str, error: &io::Error) -> StoreError {
    let reason = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Unusable::Full,
        _ => Unusable::Access,
    };
    StoreError::unusable(shown, reason, format!("{doing}: {error}"))
}
