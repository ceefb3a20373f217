//! Publishing: what is asked and what is answered.

use bytes::Bytes;
use punctual_types::{DelayMs, Time};

use crate::MessageId;

/// When a message is to be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// So long after the broker accepts it.
    Delay(DelayMs),
    /// At that time; one that has passed means now.
    At(Time),
    /// By the namespace's table of delay levels, from 1.
    Level(u32),
}

/// What to do when a scheduled message already has the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuse the new message: `key_conflict`.
    #[default]
    Reject,
    /// The new message takes the place of the scheduled one (debounce).
    Replace,
    /// The scheduled one stays, and is answered with status `kept`.
    Keep,
}

/// A message to publish. Sizes are checked by the broker against its [`crate::Limits`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMessage {
    /// The body: any bytes, up to 4 MiB by default.
    pub body: Bytes,
    /// When to deliver it.
    pub when: When,
    /// The caller's own handle, unique among the topic's scheduled messages; up to 255 bytes.
    pub key: Option<String>,
    /// What to do when the key is taken.
    pub on_conflict: OnConflict,
    /// Of several publishes with one dedup id, within the topic's window and for as long as the
    /// first is scheduled, one message is stored; up to 255 bytes.
    pub dedup_id: Option<String>,
    /// Messages with one ordering key go to one partition; up to 255 bytes.
    pub ordering_key: Option<String>,
    /// A tag for filters; up to 255 bytes.
    pub tag: Option<String>,
    /// Headers in the order sent; up to 128 of them and 64 KiB.
    pub headers: Vec<(String, String)>,
    /// From 0 to the topic's `priorities` − 1; higher goes first.
    pub priority: u8,
    /// So long after its due time the message expires.
    pub expires_after: Option<DelayMs>,
    /// Store it without scheduling it, until it is committed; `None` schedules it at once.
    pub prepare: Option<Prepare>,
}

/// A message that waits for its producer's decision: nobody sees it before
/// [`crate::Broker::commit`], and [`crate::Broker::rollback`] makes it never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// How long the producer may take: then, and after each further such time, the message is
    /// offered to whoever reads the topic `{topic}.in_doubt`, who settles it.
    pub timeout: DelayMs,
    /// After so many such offers without a decision the message is rolled back.
    pub max_checks: u32,
}

/// What became of a published message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishStatus {
    /// It is stored.
    Accepted,
    /// An earlier message had the dedup id; the answer names that one.
    Duplicate,
    /// It is stored in place of the scheduled message that had the key.
    Replaced {
        /// The id of the message that will not be delivered.
        replaced_id: MessageId,
    },
    /// The scheduled message that has the key stays; the answer names that one.
    Kept,
    /// It is stored and waits to be committed; the answer tells when it is due if it is.
    Prepared,
}

/// The answer to one published message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The id of the message that is stored.
    pub id: MessageId,
    /// When it is due.
    pub deliver_at: Time,
    /// How it came to be stored.
    pub status: PublishStatus,
}
