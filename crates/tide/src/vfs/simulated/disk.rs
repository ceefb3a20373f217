//! What a simulated disk holds: what its users see, what is durable, and what lies between.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
};

use super::{Fault, random::Random};

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A disk.
pub(super) struct Disk {
    pub(super) inodes: Vec<Inode>,
    /// Names as users see them.
    pub(super) names: BTreeMap<String, usize>,
    names_durable: BTreeMap<String, usize>,
    /// Changes of names since the directory was synced.
    names_changed: Vec<NameChange>,
    pub(super) locks: BTreeSet<String>,
    pub(super) changes: u64,
    pub(super) fault: Option<Fault>,
    pub(super) capacity: u64,
    pub(super) is_dead: bool,
    pub(super) life: u64,
}

/// A file.
#[derive(Default)]
pub(super) struct Inode {
    /// As users see it.
    pub(super) seen: Vec<u8>,
    durable: Vec<u8>,
    /// Changes since it was synced.
    changed: Vec<Change>,
}

/// A change of a file.
pub(super) enum Change {
    Bytes(u64, Vec<u8>),
    Length(u64),
}

enum NameChange {
    Put(String, usize),
    Remove(String),
    /// The old name goes and the new one comes at once.
    Rename(String, String, usize),
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            inodes: Vec::new(),
            names: BTreeMap::new(),
            names_durable: BTreeMap::new(),
            names_changed: Vec::new(),
            locks: BTreeSet::new(),
            changes: 0,
            fault: None,
            capacity: u64::MAX,
            is_dead: false,
            life: 0,
        }
    }
}

impl Disk {
    pub(super) fn alive(&self) -> io::Result<()> {
        if self.is_dead { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }

    /// Counts a change; an error when it is the one that fails.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.alive()?;
        self.changes += 1;
        if self.fault == Some(Fault::FailOnce(self.changes)) {
            self.fault = None;
            return Err(io::Error::other("failed on command"));
        }
        Ok(())
    }

    /// After a change was done: an error when the power went in its middle.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.fault == Some(Fault::PowerCut(self.changes)) {
            self.fault = None;
            self.is_dead = true;
        }
        self.alive()
    }

    /// Counts a sync, of a file or of the directory. One that fails drops what it covered, as a
    /// system does: users still see it and it will never be durable.
    pub(super) fn begin_sync(&mut self, inode: Option<usize>) -> io::Result<()> {
        self.begin().inspect_err(|_| match inode {
            Some(inode) => self.inodes[inode].changed.clear(),
            None => self.names_changed.clear(),
        })?;
        // A sync during which the power goes has done nothing for sure.
        self.end()
    }

    pub(super) fn free_bytes(&self) -> u64 {
        let used: u64 = self.names.values().map(|inode| self.inodes[*inode].seen.len() as u64).sum();
        self.capacity.saturating_sub(used)
    }

    pub(super) fn has_room(&self, bytes: u64) -> io::Result<()> {
        if bytes > 0 && bytes > self.free_bytes() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// A new, empty file.
    pub(super) fn create(&mut self, name: &str) -> usize {
        let inode = self.inodes.len();
        self.inodes.push(Inode::default());
        self.names.insert(name.to_owned(), inode);
        self.names_changed.push(NameChange::Put(name.to_owned(), inode));
        inode
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = self.names.remove(from).ok_or(ErrorKind::NotFound)?;
        self.names.insert(to.to_owned(), inode);
        self.names_changed.push(NameChange::Rename(from.to_owned(), to.to_owned(), inode));
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.names.remove(name).ok_or(ErrorKind::NotFound)?;
        self.names_changed.push(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    pub(super) fn change(&mut self, inode: usize, change: Change) {
        let inode = &mut self.inodes[inode];
        change.apply(&mut inode.seen, |_| true);
        inode.changed.push(change);
    }

    pub(super) fn sync(&mut self, inode: usize) {
        let inode = &mut self.inodes[inode];
        for change in inode.changed.drain(..) {
            change.apply(&mut inode.durable, |_| true);
        }
    }

    pub(super) fn sync_names(&mut self) {
        for change in self.names_changed.drain(..) {
            change.apply(&mut self.names_durable);
        }
    }

    /// Sets contents that are durable at once.
    pub(super) fn replace(&mut self, name: &str, bytes: Vec<u8>) {
        self.sync_names();
        let inode = match self.names.get(name) {
            Some(inode) => *inode,
            None => self.create(name),
        };
        self.sync_names();
        self.inodes[inode] = Inode { durable: bytes.clone(), seen: bytes, changed: Vec::new() };
    }

    /// Keeps what is durable and what chance keeps of the rest.
    pub(super) fn crash(&mut self, seed: u64) {
        let mut random = Random(seed);
        for inode in &mut self.inodes {
            for change in inode.changed.drain(..) {
                match random.below(3) {
                    0 => {}
                    1 => change.apply(&mut inode.durable, |_| true),
                    _ => change.apply(&mut inode.durable, |_| random.below(2) == 0),
                }
            }
            inode.seen.clone_from(&inode.durable);
        }
        for change in self.names_changed.drain(..) {
            if random.below(2) == 0 {
                change.apply(&mut self.names_durable);
            }
        }
        self.names.clone_from(&self.names_durable);
        self.begin_life();
    }

    /// Ends all handles and locks.
    pub(super) fn begin_life(&mut self) {
        self.locks.clear();
        self.fault = None;
        self.is_dead = false;
        self.life += 1;
    }
}

impl Change {
    /// Does the change to some bytes, as far as its sectors are kept.
    fn apply(&self, to: &mut Vec<u8>, mut is_kept: impl FnMut(usize) -> bool) {
        match self {
            Self::Length(len) => {
                if is_kept(0) {
                    to.resize(usize::try_from(*len).unwrap_or(usize::MAX), 0);
                }
            }
            Self::Bytes(at, bytes) => {
                let mut at = usize::try_from(*at).unwrap_or(usize::MAX);
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let (sector, later) = rest.split_at(rest.len().min(SECTOR_BYTES - at % SECTOR_BYTES));
                    if is_kept(at / SECTOR_BYTES) {
                        let end = at + sector.len();
                        to.resize(to.len().max(end), 0);
                        to[at..end].copy_from_slice(sector);
                    }
                    at += sector.len();
                    rest = later;
                }
            }
        }
    }
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Put(name, inode) => {
                names.insert(name, inode);
            }
            Self::Remove(name) => {
                names.remove(&name);
            }
            Self::Rename(from, to, inode) => {
                names.remove(&from);
                names.insert(to, inode);
            }
        }
    }
}
