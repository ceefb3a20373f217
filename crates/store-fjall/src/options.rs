//! How a store is opened.

use std::time::Duration;

use crate::limits;

/// How to open a data directory, and how to make it when it is new.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Shards of a directory that is made now, from 1 to `punctual_types::limits::SHARDS_MAX`; one
    /// that exists keeps its own number.
    pub shards_if_new: u16,
    /// Secret of a directory that is made now; one that exists keeps its own.
    pub secret_if_new: [u8; 16],
    /// Bytes of the block cache.
    pub cache_bytes: u64,
    /// Bytes that a keyspace gathers in memory before it is flushed. Fixed when the directory is
    /// made.
    pub memtable_bytes_if_new: u64,
    /// Bytes that must be free on the file system.
    pub free_bytes_min: u64,
    /// Pause between two searches for tables that lie below the floors.
    pub reclaim_every: Duration,
}

impl OpenOptions {
    /// The defaults, for a directory that would be made with so many shards and this secret.
    #[must_use]
    pub fn new(shards_if_new: u16, secret_if_new: [u8; 16]) -> Self {
        Self {
            shards_if_new,
            secret_if_new,
            cache_bytes: limits::CACHE_BYTES_DEFAULT,
            memtable_bytes_if_new: limits::MEMTABLE_BYTES_MAX,
            free_bytes_min: limits::START_FREE_BYTES_MIN,
            reclaim_every: limits::RECLAIM_EVERY,
        }
    }
}
