//! Every bound of this store, in one place.

use std::time::Duration;

/// Bytes of a journal segment, unless one batch needs more.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// Bytes of one batch as the journal keeps it.
pub const JOURNAL_BATCH_BYTES_MAX: usize = 1 << 30;
/// Bytes of the newest batches that stay in memory, so that what was just written is read from there.
pub const RECENT_BYTES_MAX: usize = 32 << 20;
/// Bytes that must be free on the file system before a store is opened: two segments.
pub const START_FREE_BYTES_MIN: u64 = 2 * SEGMENT_BYTES;
/// Longest time that a written commit stays unsynced when nobody asks for it.
pub const UNSYNCED_MAX: Duration = Duration::from_millis(500);
/// Bytes of a format file.
pub const FORMAT_FILE_BYTES_MAX: u64 = 4096;
/// Entries that a slot of the wheel holds before it opens into finer ones.
pub const SLOT_ENTRIES_MAX: usize = 128;
