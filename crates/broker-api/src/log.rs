//! A topic as a log: reading by offset and committing offsets, for the doors of log-style protocols.

use bytes::Bytes;
use punctual_types::Time;

use crate::{MessageId, Reply, SubscriptionPath, TopicPath};

/// A partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogPartition {
    /// The topic.
    pub topic: TopicPath,
    /// The partition, from 0.
    pub partition: u16,
}

/// Which offsets a partition holds. Offsets are dense and given when a message comes due; they are
/// the same after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOffsets {
    /// The first that can still be read.
    pub earliest: u64,
    /// The one that the next message to come due is given.
    pub next: u64,
}

/// What to read of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogReadRequest {
    /// Of which partition.
    pub partition: LogPartition,
    /// From this offset on; from the earliest when that lies above it.
    pub from_offset: u64,
    /// At most so many messages: 1 to 1000 by default.
    pub max: u32,
    /// Stop at so many bytes of bodies; one message is always answered.
    pub max_bytes: u64,
}

/// A message that came due, as the log shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Its place in the partition.
    pub offset: u64,
    /// Its id.
    pub id: MessageId,
    /// The bytes that were published.
    pub body: Bytes,
    /// The key it was published with.
    pub key: Option<String>,
    /// The ordering key it was published with.
    pub ordering_key: Option<String>,
    /// The tag it was published with.
    pub tag: Option<String>,
    /// The headers, exactly as sent.
    pub headers: Vec<(String, String)>,
    /// When the broker accepted it.
    pub published_at: Time,
    /// When it was due.
    pub deliver_at: Time,
}

/// A broker as a log. Only the embedded broker is one: log-style doors stand in its process.
///
/// What is shown is durable. A subscription is either shared or a stream, from its first use on:
/// to commit an offset to a shared one, or to lease from a stream, is refused as
/// `subscription_kind`. Retries and what is ahead of the now-line are never shown.
pub trait Log: Send + Sync + 'static {
    /// How many partitions a topic has; `topic_not_found`.
    fn partitions(&self, topic: TopicPath) -> Reply<'_, u16>;

    /// Which offsets a partition holds; `topic_not_found`, and `invalid_field` for a partition that
    /// the topic does not have.
    fn offsets(&self, partition: LogPartition) -> Reply<'_, LogOffsets>;

    /// Reads messages in offset order; none when the next offset is asked for. Offsets may be
    /// missing where messages were reclaimed.
    ///
    /// # Errors
    /// As [`Log::offsets`], and `invalid_field` for an offset beyond the next.
    fn read(&self, request: LogReadRequest) -> Reply<'_, Vec<LogRecord>>;

    /// The first offset due at or after a time; the next offset when nothing is.
    fn offset_at(&self, partition: LogPartition, time: Time) -> Reply<'_, u64>;

    /// Says that a stream subscription has handled everything below an offset. Makes the
    /// subscription, as a stream, when there is none. Durable when answered.
    ///
    /// # Errors
    /// `subscription_kind` when it is shared, `invalid_field` for an offset beyond the next.
    fn commit_offset(&self, subscription: SubscriptionPath, partition: u16, offset: u64) -> Reply<'_, ()>;

    /// The offset that a stream subscription goes on from; `None` when it committed none.
    fn committed_offset(&self, subscription: SubscriptionPath, partition: u16) -> Reply<'_, Option<u64>>;
}
