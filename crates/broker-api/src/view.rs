//! A message as somebody who asks for it sees it.

use bytes::Bytes;
use punctual_types::{DelayMs, Time};

use crate::{DeadLetterHistory, MessageId};

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Stored, and not yet committed or rolled back.
    Prepared,
    /// Ahead of the now-line.
    Scheduled,
    /// Behind it, and not yet settled by every subscription.
    Ready,
    /// Settled by every subscription, and not yet reclaimed.
    Settled,
}

impl MessageState {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Settled => "settled",
        }
    }
}

/// Where a message is for one subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionMessageState {
    /// To be delivered.
    Ready,
    /// With a consumer.
    Leased,
    /// It failed, and waits to be tried again.
    Retrying,
    /// It failed for good, and lies in the dead-letter topic.
    Dead,
    /// Acked, or moved to a retry or to the dead letters.
    Settled,
}

impl SubscriptionMessageState {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Retrying => "retrying",
            Self::Dead => "dead",
            Self::Settled => "settled",
        }
    }
}

/// How far a subscription has come with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionProgress {
    /// The subscription.
    pub subscription: String,
    /// Where the message is for it.
    pub state: SubscriptionMessageState,
    /// How often it was delivered and failed or is being tried.
    pub attempts: u32,
    /// When its lease ends, while it is leased.
    pub lease_expires_at: Option<Time>,
    /// When it is offered again, while it is being retried.
    pub retry_at: Option<Time>,
}

/// A message, looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageView {
    /// Its id.
    pub id: MessageId,
    /// Where it is.
    pub state: MessageState,
    /// Its body; `None` when the question left bodies out.
    pub body: Option<Bytes>,
    /// Its key.
    pub key: Option<String>,
    /// Its dedup id.
    pub dedup_id: Option<String>,
    /// Its ordering key.
    pub ordering_key: Option<String>,
    /// Its tag.
    pub tag: Option<String>,
    /// Its headers, exactly as sent.
    pub headers: Vec<(String, String)>,
    /// Its priority.
    pub priority: u8,
    /// When it expires, counted from its due time.
    pub expires_after: Option<DelayMs>,
    /// When the broker accepted it.
    pub published_at: Time,
    /// When it is or was due.
    pub deliver_at: Time,
    /// How far each subscription has come with it; empty while it is scheduled.
    pub subscriptions: Vec<SubscriptionProgress>,
    /// Where it failed before, when it lies in a dead-letter topic.
    pub dead_letter: Option<Box<DeadLetterHistory>>,
}
