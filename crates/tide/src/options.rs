//! How a store is opened.

use crate::limits;

/// How to open a data directory, and how to make it when it is new.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Shards of a directory that is made now, from 1 to `punctual_types::limits::SHARDS_MAX`; one
    /// that exists keeps its own number.
    pub shards_if_new: u16,
    /// Secret of a directory that is made now; one that exists keeps its own.
    pub secret_if_new: [u8; 16],
    /// Bytes of a journal segment that is made from now on; less than 2 GiB.
    pub segment_bytes: u64,
    /// Bytes of full journal segments from which the oldest are folded into a run.
    pub fold_bytes: u64,
    /// Neighbouring runs of about one size that are merged into one; at least 2.
    pub merge_runs: usize,
    /// Bytes of the newest batches that stay in memory.
    pub recent_bytes_max: usize,
    /// Bytes that must be free on the file system.
    pub free_bytes_min: u64,
    /// Who syncs.
    pub syncing: Syncing,
}

/// Who syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncing {
    /// A thread of the store, when somebody asks and at least twice a second; another one folds.
    ByThread,
    /// Whoever calls `TideStore::sync`, which folds as well, so that a test is the same each time.
    ByHand,
}

impl OpenOptions {
    /// The defaults, for a directory that would be made with so many shards and this secret.
    #[must_use]
    pub fn new(shards_if_new: u16, secret_if_new: [u8; 16]) -> Self {
        Self {
            shards_if_new,
            secret_if_new,
            segment_bytes: limits::SEGMENT_BYTES,
            fold_bytes: limits::FOLD_BYTES,
            merge_runs: limits::MERGE_RUNS,
            recent_bytes_max: limits::RECENT_BYTES_MAX,
            free_bytes_min: limits::START_FREE_BYTES_MIN,
            syncing: Syncing::ByThread,
        }
    }
}
