//! Bounds of the runtime.

use punctual_types::DelayMs;

/// Requests that wait for a worker. More are refused (publishing) or wait at the door (the rest).
pub(crate) const INBOX_MAX: usize = 4096;
/// Requests that a worker takes at once, and so the most that one commit answers.
pub(crate) const DRAIN_MAX: usize = 1024;
/// Bytes of messages that are on their way from the doors into commits, of all shards together.
pub(crate) const PUBLISHING_BYTES_MAX: usize = 64 << 20;
/// Messages offered to one subscription before others have their turn.
pub(crate) const OFFER_TURN_MAX: u32 = 4096;
/// Messages of one lease command, and so of one batch of deliveries.
pub(crate) const OFFER_BATCH_MAX: u32 = 256;
/// Bytes of one lease command.
pub(crate) const OFFER_BYTES_MAX: u64 = 4 << 20;
/// Batches of deliveries that wait to be taken by a consumer.
pub(crate) const FEED_BATCHES_MAX: usize = 1024;
/// Bytes of deliveries that wait to be taken by a consumer; one batch more may be on its way.
pub(crate) const FEED_BYTES_MAX: usize = 8 << 20;
/// Bytes of messages kept ready in memory for one timeline.
pub(crate) const READY_BYTES_MAX: usize = 8 << 20;
/// Bytes of messages kept ready in memory by one worker.
pub(crate) const READY_BYTES_WORKER_MAX: usize = 64 << 20;
/// Messages read ahead of what a consumer asked for: not fewer than the core looks at in one lease
/// command when it may pass some over, or those would be read again and again.
pub(crate) const READ_AHEAD: u32 = 128;
/// Bytes read ahead of what a consumer asked for.
pub(crate) const READ_AHEAD_BYTES: u64 = 1 << 20;
/// Timelines whose lines one turn moves before requests have their turn.
pub(crate) const ADVANCES_MAX: usize = 256;
/// Leases that one turn takes back at most.
pub(crate) const EXPIRED_MAX: u32 = 1000;
/// Transfers that one shard takes of another at once.
pub(crate) const TRANSFERS_MAX: u32 = 1000;
/// The time of a shard is kept at least so often.
pub(crate) const KEEP_TIME: DelayMs = DelayMs::from_secs(1);
