//! A disk in memory that does to its files whatever a real one may do.
//!
//! Without faults it is simply a disk in memory. With them: un-synced writes and names are lost in
//! any subset when the power goes, a write is torn at any 512-byte sector, the k-th change fails,
//! a failed sync drops what it covered and says yes the next time, space runs out, bits flip. All
//! of it follows from a seed.

mod disk;
mod random;

use std::{
    io::{self, ErrorKind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{FileHandle, Lock, Vfs, VfsFile};
use disk::{Change, Disk};

/// A simulated disk with one directory. Clones are doors to the same disk.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<Disk>>, Arc<Mutex<Option<Interruption>>>);

/// What is done once, in the middle of whatever makes a file whose name begins so.
type Interruption = (String, Box<dyn FnOnce() + Send>);

/// What a simulated disk does at the k-th change from the time it is told (1 is the next). Changes
/// are creations, writes, cuts, renames, removals and syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// That one change fails, and everything after it works again.
    FailOnce(u64),
    /// The power goes in the middle of that change; nothing works until [`SimulatedDisk::crash`].
    PowerCut(u64),
}

struct SimulatedFile {
    disk: SimulatedDisk,
    inode: usize,
    /// Which life of the disk it was opened in: a crash ends all handles.
    life: u64,
}

struct SimulatedLock {
    disk: SimulatedDisk,
    name: String,
    life: u64,
}

impl SimulatedDisk {
    /// Plans a fault in place of an earlier one.
    pub fn plan(&self, fault: Fault) {
        let mut disk = self.disk();
        let now = disk.changes;
        disk.fault = Some(match fault {
            Fault::FailOnce(k) => Fault::FailOnce(now + k),
            Fault::PowerCut(k) => Fault::PowerCut(now + k),
        });
    }

    /// Does something once, as soon as a file is made whose name begins so and before whoever makes it
    /// goes on: what another thread might do just then.
    pub fn interrupt(&self, name_begins: &str, interruption: impl FnOnce() + Send + 'static) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some((name_begins.to_owned(), Box::new(interruption)));
    }

    fn interrupt_at(&self, name: &str) {
        let mut planned = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let interruption = planned.take_if(|(begins, _)| name.starts_with(&**begins));
        drop(planned);
        if let Some((_, interruption)) = interruption {
            interruption();
        }
    }

    /// How many changes there were.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.disk().changes
    }

    /// How large the disk is; without it there is no end.
    pub fn set_capacity(&self, bytes: u64) {
        self.disk().capacity = bytes;
    }

    /// The power goes: from now on nothing works until [`Self::crash`].
    pub fn cut_power(&self) {
        self.disk().is_dead = true;
    }

    /// The process dies and the disk lives on: what was written is there, synced or not.
    pub fn kill(&self) {
        self.disk().begin_life();
    }

    /// The power comes back: what was synced is there, and of everything else what the seed keeps.
    pub fn crash(&self, seed: u64) {
        self.disk().crash(seed);
    }

    /// Flips a bit of a file, counted from the highest of its first byte.
    ///
    /// # Panics
    /// When there is no such file or bit.
    pub fn flip(&self, name: &str, bit: u64) {
        let mut bytes = self.contents(name).expect("a file of this name");
        let at = usize::try_from(bit / 8).expect("in range");
        bytes[at] ^= 0x80 >> (bit % 8);
        self.replace(name, bytes);
    }

    /// What a file holds.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let disk = self.disk();
        disk.names.get(name).map(|inode| disk.inodes[*inode].seen.clone())
    }

    /// Gives a file other contents, durably; it is made when it is not there.
    pub fn replace(&self, name: &str, bytes: Vec<u8>) {
        self.disk().replace(name, bytes);
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, inode: usize, life: u64) -> FileHandle {
        Arc::new(SimulatedFile { disk: self.clone(), inode, life })
    }
}

impl Vfs for SimulatedDisk {
    fn shown(&self) -> String {
        "a simulated disk".to_owned()
    }

    fn open(&self, name: &str) -> io::Result<FileHandle> {
        let disk = self.disk();
        disk.alive()?;
        let inode = *disk.names.get(name).ok_or(ErrorKind::NotFound)?;
        Ok(self.handle(inode, disk.life))
    }

    fn create(&self, name: &str, len: u64) -> io::Result<FileHandle> {
        let mut disk = self.disk();
        disk.begin()?;
        if disk.names.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        disk.has_room(len)?;
        let inode = disk.create(name);
        disk.change(inode, Change::Length(len));
        disk.end()?;
        let life = disk.life;
        drop(disk);
        self.interrupt_at(name);
        Ok(self.handle(inode, life))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.begin()?;
        disk.rename(from, to)?;
        disk.end()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.begin()?;
        disk.remove(name)?;
        disk.end()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let disk = self.disk();
        disk.alive()?;
        Ok(disk.names.keys().cloned().collect())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.begin_sync(None)?;
        disk.sync_names();
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let disk = self.disk();
        disk.alive()?;
        Ok(disk.free_bytes())
    }

    fn lock(&self, name: &str) -> io::Result<Lock> {
        let mut disk = self.disk();
        disk.alive()?;
        if !disk.locks.insert(name.to_owned()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        if !disk.names.contains_key(name) {
            disk.create(name);
        }
        Ok(Box::new(SimulatedLock { disk: self.clone(), name: name.to_owned(), life: disk.life }))
    }
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        let mut disk = self.disk.disk();
        if disk.life == self.life {
            disk.locks.remove(&self.name);
        }
    }
}

impl SimulatedFile {
    /// The disk, if this handle is of its present life.
    fn disk(&self) -> io::Result<MutexGuard<'_, Disk>> {
        let disk = self.disk.disk();
        if disk.life != self.life {
            return Err(io::Error::other("opened before the crash"));
        }
        Ok(disk)
    }
}

impl VfsFile for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        let disk = self.disk()?;
        disk.alive()?;
        Ok(disk.inodes[self.inode].seen.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let disk = self.disk()?;
        disk.alive()?;
        let at = usize::try_from(at).map_err(|_| ErrorKind::UnexpectedEof)?;
        let seen = disk.inodes[self.inode].seen.get(at..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(seen.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut disk = self.disk()?;
        let begun = disk.begin();
        // A write that fails may have been done in part.
        let done = if begun.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        let grows_by = (at + done.len() as u64).saturating_sub(disk.inodes[self.inode].seen.len() as u64);
        disk.has_room(grows_by)?;
        if !disk.is_dead {
            disk.change(self.inode, Change::Bytes(at, done.to_vec()));
        }
        begun?;
        disk.end()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.disk()?;
        disk.begin()?;
        disk.change(self.inode, Change::Length(len));
        disk.end()
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.disk()?;
        disk.begin_sync(Some(self.inode))?;
        disk.sync(self.inode);
        Ok(())
    }
}
