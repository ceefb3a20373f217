//! Every limit that a user can meet, in one place, with its default.

use crate::DelayMs;

/// Bytes of a topic, subscription or namespace name at the native doors.
pub const NAME_BYTES_MAX: usize = 255;
/// Bytes of a stored name, for doors that map foreign names.
pub const STORED_NAME_BYTES_MAX: usize = 765;
/// Bytes of a message body.
pub const BODY_BYTES_MAX: usize = 4 << 20;
/// Bytes of all header names and values of a message.
pub const HEADERS_BYTES_MAX: usize = 64 << 10;
/// Headers of a message.
pub const HEADERS_MAX: usize = 128;
/// Bytes of a key, a dedup id, an ordering key and a tag.
pub const HANDLE_BYTES_MAX: usize = 255;
/// Messages of a batch.
pub const BATCH_MESSAGES_MAX: usize = 10_000;
/// Bytes of a batch's bodies, headers and handles.
pub const BATCH_BYTES_MAX: usize = 16 << 20;
/// Levels of a namespace's delay table.
pub const DELAY_LEVELS_MAX: usize = 64;
/// Shortest lease.
pub const LEASE_MIN: DelayMs = DelayMs::from_secs(1);
/// Longest lease, also after extending.
pub const LEASE_MAX: DelayMs = DelayMs::from_secs(12 * 3600);
/// Lease of a subscription that names none.
pub const LEASE_DEFAULT: DelayMs = DelayMs::from_secs(30);
/// Most attempts that a subscription may allow.
pub const ATTEMPTS_MAX: u32 = 1000;
/// Attempts of a subscription that names none.
pub const ATTEMPTS_DEFAULT: u32 = 16;
/// Messages of a subscription in flight.
pub const IN_FLIGHT_MAX: u32 = 100_000;
/// Topics of a namespace.
pub const TOPICS_MAX: usize = 10_000;
/// Partitions of a topic.
pub const PARTITIONS_MAX: u16 = 1024;
/// Priorities of a topic.
pub const PRIORITIES_MAX: u16 = 256;
/// Connections to all doors together.
pub const CONNECTIONS_MAX: usize = 20_000;
/// Messages of one receive call.
pub const RECEIVE_MESSAGES_MAX: u32 = 1000;
/// Bytes of one receive call's bodies.
pub const RECEIVE_BYTES_MAX: u64 = 4 << 20;
/// Longest wait of a receive call.
pub const RECEIVE_WAIT_MAX: DelayMs = DelayMs::from_secs(60);
/// Receipts of one ack, nack, release or extend call.
pub const RECEIPTS_MAX: usize = 10_000;
/// Ids of one redrive.
pub const REDRIVE_IDS_MAX: usize = 10_000;
/// Bytes of the error text that a nack may carry.
pub const NACK_ERROR_BYTES_MAX: usize = 4 << 10;
/// Buckets of a timeline answer.
pub const TIMELINE_BUCKETS_MAX: u64 = 1000;
/// Narrowest bucket of a timeline answer.
pub const TIMELINE_BUCKET_MIN: DelayMs = DelayMs::from_secs(60);
/// Messages of one page of a list.
pub const PAGE_MAX: u32 = 1000;
/// Messages of a page that names no limit.
pub const PAGE_DEFAULT: u32 = 100;
/// How long an outcome (cancelled, delivered now) is answered again after it was decided.
pub const OUTCOME_KEPT: DelayMs = DelayMs::from_secs(600);
/// Dedup window of a topic that names none.
pub const DEDUP_WINDOW_DEFAULT: DelayMs = DelayMs::from_secs(600);
/// Records that one advance of a now-line crosses at most.
pub const ADVANCE_RECORDS_MAX: u32 = 10_000;
/// Offsets between two anchors.
pub const ANCHOR_EVERY: u64 = 1024;
/// Marks that one piece of an expiry deals with at most: each may have a record read.
pub const EXPIRE_PIECE_MAX: u32 = 100;
/// Records that one piece of what a topic's retention ends deals with at most.
pub const RETAIN_PIECE_MAX: u32 = 1000;
/// Prepared messages that one piece asks after at most.
pub const CHECK_PIECE_MAX: u32 = 100;
/// Shortest time until a prepared message is asked after: an answer takes a moment.
pub const PREPARE_TIMEOUT_MIN: DelayMs = DelayMs::from_secs(1);
/// Longest: what was decided is remembered for a day, and who is asked later could not tell.
pub const PREPARE_TIMEOUT_MAX: DelayMs = DelayMs::from_secs(24 * 3600);
/// Most often that a prepared message is asked after before it is rolled back.
pub const PREPARE_CHECKS_MAX: u32 = 100;
/// Records that one piece of a range cancel removes at most.
pub const CANCEL_PIECE_MAX: u32 = 1000;
/// Shards of a data directory that names no number.
pub const SHARDS_DEFAULT: u16 = 16;
/// Shards of a data directory.
pub const SHARDS_MAX: u16 = 1024;
/// Longest delay of a retry policy.
pub const RETRY_DELAY_MAX: DelayMs = DelayMs::from_secs(365 * 24 * 3600);
/// Messages of an ordered subscription that wait in one partition for an earlier one of their key, and
/// as many that are in flight or to be tried again.
pub const ORDERED_WAITING_MAX: usize = 10_000;
/// Bytes of a filter.
pub const FILTER_BYTES_MAX: usize = 4 << 10;
/// Tags or tests of headers in a filter.
pub const FILTER_TERMS_MAX: usize = 64;
/// Parentheses in each other in a filter.
pub const FILTER_DEPTH_MAX: usize = 16;
/// Recurring schedules of a namespace.
pub const SCHEDULES_MAX: usize = 1000;
/// Bytes of a schedule's cron expression.
pub const SCHEDULE_CRON_BYTES_MAX: usize = 255;
/// Shortest period of a schedule: each run is a durable write of its own, and cron is no finer.
pub const SCHEDULE_EVERY_MIN: DelayMs = DelayMs::from_secs(1);
/// Longest jitter of a schedule.
pub const SCHEDULE_JITTER_MAX: DelayMs = DelayMs::from_secs(24 * 3600);
/// Missed runs that a schedule which catches up on all of them publishes: the latest.
pub const SCHEDULE_CATCH_UP_MAX: usize = 1000;
/// How late a run may be without counting as missed.
pub const SCHEDULE_LATENESS_MAX: DelayMs = DelayMs::from_secs(60);
/// Runs that are written at once.
pub const SCHEDULE_STEP_RUNS_MAX: usize = 100;
/// Times to come that a schedule shows.
pub const SCHEDULE_NEXT_SHOWN: usize = 5;
/// Deliveries a second that a subscription may be bounded to.
pub const RATE_MAX: u32 = 1_000_000;
/// Failures that a breaker may wait for.
pub const BREAKER_FAILURES_MAX: u32 = 10_000;
/// Longest window and pause of a breaker.
pub const BREAKER_TIME_MAX: DelayMs = DelayMs::from_secs(24 * 3600);
