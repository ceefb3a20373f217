//! Doors for the tests of this crate: what happens by itself, some time, made to happen now.

use fjall::Keyspace;
use punctual_store_api::StoreError;

use crate::{FjallStore, failure};

/// What lies in the database, dead or alive.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub records: usize,
    pub index: usize,
    pub state: usize,
    /// Of tables, without the journal.
    pub table_bytes: u64,
}

impl FjallStore {
    /// Counts every key.
    #[doc(hidden)]
    pub fn stored(&self) -> Result<Stored, StoreError> {
        let keyspaces = &self.0.shared.keyspaces;
        let keys = |keyspace: &Keyspace| {
            keyspace.len().map_err(|error| failure::reading(&self.0.shared.directory.shown(), error))
        };
        Ok(Stored {
            records: keys(&keyspaces.records)?,
            index: keys(&keyspaces.index)?,
            state: keys(&keyspaces.state)?,
            table_bytes: self.each().map(Keyspace::disk_space).sum(),
        })
    }

    /// Flushes every keyspace to tables.
    #[doc(hidden)]
    pub fn flush(&self) -> Result<(), StoreError> {
        self.each().try_for_each(|keyspace| self.failing("flushing", keyspace.rotate_memtable_and_wait()))
    }

    /// Flushes the records alone.
    #[doc(hidden)]
    pub fn flush_records(&self) -> Result<(), StoreError> {
        self.failing("flushing", self.0.shared.keyspaces.records.rotate_memtable_and_wait())
    }

    /// Flushes and rewrites every keyspace.
    #[doc(hidden)]
    pub fn compact(&self) -> Result<(), StoreError> {
        self.flush()?;
        self.each().try_for_each(|keyspace| self.failing("compacting", keyspace.major_compact()))
    }

    /// Drops the tables that are dead from end to end; in how many timelines there were such.
    #[doc(hidden)]
    pub fn drop_dead_tables(&self) -> Result<usize, StoreError> {
        self.0.shared.reclaim_once()
    }

    fn each(&self) -> impl Iterator<Item = &Keyspace> {
        let keyspaces = &self.0.shared.keyspaces;
        [&keyspaces.records, &keyspaces.index, &keyspaces.state].into_iter()
    }

    fn failing<T>(&self, doing: &'static str, result: fjall::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::failed(doing, self.0.shared.directory.shown(), error))
    }
}
