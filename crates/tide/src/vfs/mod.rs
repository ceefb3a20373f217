//! Files, as this store needs them, behind one small trait.
//!
//! No other module names a file of the system, so that every test can run on a [`SimulatedDisk`]
//! that loses what was not synced, tears writes, fails on command and fills up.
//!
//! A directory is flat: names have no separators. What a file holds is durable after its
//! [`VfsFile::sync`], that it exists under its name after [`Vfs::sync_directory`]; neither follows
//! from the other, and no order between the two is assumed.

mod directory;
mod simulated;

use std::{io, sync::Arc};

use punctual_store_api::StoreError;

pub use directory::Directory;
pub use simulated::{Fault, SimulatedDisk};

/// A file of a directory. Shared by readers and the writer; places are bytes from its beginning.
pub type FileHandle = Arc<dyn VfsFile>;

/// Held for as long as a directory is in use; dropping it lets go.
pub type Lock = Box<dyn Send + Sync>;

/// One directory of files.
pub trait Vfs: Send + Sync + 'static {
    /// How messages name the directory.
    fn shown(&self) -> String;

    /// Opens a file that is there, to read and write.
    ///
    /// # Errors
    /// `NotFound` when it is not there; else what the system says.
    fn open(&self, name: &str) -> io::Result<FileHandle>;

    /// Makes a file of `len` zero bytes with its space reserved. It must not exist.
    ///
    /// # Errors
    /// `StorageFull` when there is no such space, and then no file; else what the system says.
    fn create(&self, name: &str, len: u64) -> io::Result<FileHandle>;

    /// Gives a file another name, in place of a file that had it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a name. The file lives on for those who have it open.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// All names, in no order.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes names durable: what was created, renamed and removed.
    ///
    /// # Errors
    /// What the system says. Final: it is not tried again.
    fn sync_directory(&self) -> io::Result<()>;

    /// Bytes left on the file system.
    ///
    /// # Errors
    /// What the system says.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Takes the directory for this process, by a file of this name.
    ///
    /// # Errors
    /// `WouldBlock` when another has it; else what the system says.
    fn lock(&self, name: &str) -> io::Result<Lock>;
}

/// An open file.
pub trait VfsFile: Send + Sync {
    /// Bytes of the file.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> io::Result<u64>;

    /// Whether it has no bytes.
    ///
    /// # Errors
    /// What the system says.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Fills the buffer from a place.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before the buffer is full; else what the system says.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes all bytes at a place; short and interrupted writes are gone on with.
    ///
    /// # Errors
    /// What the system says; any part may have been written.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Cuts the file.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes what was written durable, and the length.
    ///
    /// # Errors
    /// What the system says. Final: the system may have dropped what it could not write and say
    /// yes the next time, so it is not tried again.
    fn sync(&self) -> io::Result<()>;
}

/// Reads a whole file; refuses one that is longer than `bytes_max`.
pub(crate) fn read_all(file: &FileHandle, bytes_max: u64) -> io::Result<Vec<u8>> {
    let len = file.len()?;
    if len > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {len} bytes, at most {bytes_max}")));
    }
    let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut bytes = vec![0; len];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Whether an error says that the disk is full.
pub(crate) fn is_full(error: &StoreError) -> bool {
    let StoreError::Failed { source, .. } = error else { return false };
    let source = source.downcast_ref::<io::Error>();
    source.is_some_and(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}
