//! Every bound of this store, in one place.

use std::time::Duration;

/// Bytes that must be free on the file system before a store is opened: room for a journal that
/// has just been rotated and the flush of one memtable.
pub const START_FREE_BYTES_MIN: u64 = 32 << 20;
/// Bytes of the block cache of a store that names no other.
pub const CACHE_BYTES_DEFAULT: u64 = 16 << 20;
/// Bytes that a keyspace gathers in memory before it is flushed to a table.
pub const MEMTABLE_BYTES_MAX: u64 = 32 << 20;
/// Full memtables of a keyspace that may wait to be flushed before commits wait. One less than
/// fjall's own bound, at which it waits for ever when its flusher has died.
pub const SEALED_MEMTABLES_MAX: usize = 3;
/// Bytes of all journals before fjall flushes whatever pins the oldest.
pub const JOURNALS_BYTES_MAX: u64 = 256 << 20;
/// Threads that flush and compact. Two, so that fjall keeps one free for flushing.
pub const WORKER_THREADS: usize = 2;
/// Longest time that a written commit stays unsynced when nobody asks for it.
pub const UNSYNCED_MAX: Duration = Duration::from_millis(500);
/// Pause between two searches for tables that lie below the floors.
pub const RECLAIM_EVERY: Duration = Duration::from_secs(10);
/// Records that a count passes on its caller's thread before it moves to the helper's.
pub const COUNT_INLINE_MAX: u64 = 10_000;
/// Long counts that may wait for the helper; further ones are counted by their callers.
pub const COUNTS_QUEUED_MAX: usize = 64;
/// Bytes of a format file.
pub const FORMAT_FILE_BYTES_MAX: u64 = 4096;
