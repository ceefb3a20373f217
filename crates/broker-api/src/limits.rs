//! The limits in force.

use punctual_types::{DelayMs, limits};

/// Limits that an operator may set; the defaults are those of `punctual_types::limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message body.
    pub body_bytes_max: usize,
    /// Bytes of all header names and values of a message.
    pub headers_bytes_max: usize,
    /// Headers of a message.
    pub headers_max: usize,
    /// Messages of a batch.
    pub batch_messages_max: usize,
    /// Bytes of a batch.
    pub batch_bytes_max: usize,
    /// Topics of a namespace.
    pub topics_max: usize,
    /// Recurring schedules of a namespace.
    pub schedules_max: usize,
    /// Connections to all doors together.
    pub connections_max: usize,
    /// Messages of one receive call.
    pub receive_messages_max: u32,
    /// Bytes of one receive call.
    pub receive_bytes_max: u64,
    /// Longest wait of a receive call.
    pub receive_wait_max: DelayMs,
    /// Free bytes below which publishing is refused with `disk_full`, so that acks and cancels
    /// still have room.
    pub disk_reserve_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: limits::BODY_BYTES_MAX,
            headers_bytes_max: limits::HEADERS_BYTES_MAX,
            headers_max: limits::HEADERS_MAX,
            batch_messages_max: limits::BATCH_MESSAGES_MAX,
            batch_bytes_max: limits::BATCH_BYTES_MAX,
            topics_max: limits::TOPICS_MAX,
            schedules_max: limits::SCHEDULES_MAX,
            connections_max: limits::CONNECTIONS_MAX,
            receive_messages_max: limits::RECEIVE_MESSAGES_MAX,
            receive_bytes_max: limits::RECEIVE_BYTES_MAX,
            receive_wait_max: limits::RECEIVE_WAIT_MAX,
            disk_reserve_bytes: 256 << 20,
        }
    }
}
