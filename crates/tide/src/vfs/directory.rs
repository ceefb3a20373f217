//! A directory of the system: positioned reads and writes, `fdatasync`, reserved space.

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::{FileHandle, Lock, Vfs, VfsFile};

/// A directory of the system.
#[derive(Debug)]
pub struct Directory(PathBuf);

struct SystemFile(File);

impl Directory {
    /// A directory that is there.
    ///
    /// # Errors
    /// What the system says; `NotADirectory` when it is something else.
    pub fn existing(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            return Ok(Self(path.to_owned()));
        }
        Err(io::Error::new(ErrorKind::NotADirectory, "it is not a directory"))
    }

    /// A directory; it is made when it does not exist.
    ///
    /// # Errors
    /// What the system says; `NotADirectory` when it is something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        match Self::existing(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        fs::create_dir_all(path)?;
        // Its entry must be as durable as what will be written into it.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()?;
        Ok(Self(path.to_owned()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Vfs for Directory {
    fn shown(&self) -> String {
        self.0.display().to_string()
    }

    fn open(&self, name: &str) -> io::Result<FileHandle> {
        let file = File::options().read(true).write(true).open(self.path(name))?;
        Ok(Arc::new(SystemFile(file)))
    }

    fn create(&self, name: &str, len: u64) -> io::Result<FileHandle> {
        let file = File::options().read(true).write(true).create_new(true).open(self.path(name))?;
        if let Err(error) = reserve(&file, len) {
            // What could not be made whole is not left behind; the first error is the one to tell.
            let _ = fs::remove_file(self.path(name));
            return Err(error);
        }
        Ok(Arc::new(SystemFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        // A name that is not text is none of ours, and is shown as good as can be.
        fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_directory(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let found = statvfs(&self.0)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn lock(&self, name: &str) -> io::Result<Lock> {
        let file = File::options().write(true).create(true).truncate(false).open(self.path(name))?;
        match file.try_lock() {
            // Unlocked by the system when it is closed, whatever happens to the process.
            Ok(()) => Ok(Box::new(file)),
            Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Gives a new file its length and its space. A file system that cannot reserve gives the length.
fn reserve(file: &File, len: u64) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, len) {
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(len),
        reserved => reserved.map_err(io::Error::from),
    }
}

impl VfsFile for SystemFile {
    fn len(&self) -> io::Result<u64> {
        self.0.metadata().map(|found| found.len())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_exact_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
