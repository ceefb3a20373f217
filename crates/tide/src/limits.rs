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
/// Bytes of records from which a block of a run ends.
pub const RUN_BLOCK_BYTES: usize = 16 << 10;
/// Bytes that are gathered before they are written to a run.
pub const RUN_WRITE_BYTES: usize = 256 << 10;
/// Bytes of full journal segments from which the oldest are folded into a run.
pub const FOLD_BYTES: u64 = 256 << 20;
/// Bytes of a manifest.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;
/// Bytes of a checkpoint.
pub const CHECKPOINT_BYTES_MAX: u64 = 2 << 30;
/// Writes of one batch of a checkpoint.
pub const CHECKPOINT_WRITES_MAX: usize = 1000;
/// Records that a fold asks a shard for while it holds it.
pub const FOLD_CHUNK: usize = 1000;
/// Pause between two looks at whether there is something to fold.
pub const FOLD_LOOK: Duration = Duration::from_millis(100);
/// Neighbouring runs of about one size that are merged into one.
pub const MERGE_RUNS: usize = 8;
/// Bytes of a run beyond which it is not merged any more.
pub const RUN_BYTES_MAX: u64 = 2 << 30;
