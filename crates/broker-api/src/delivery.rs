//! A message as a consumer gets it.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use punctual_types::Time;

use crate::MessageId;

/// Proof that a message was leased, to ack, nack, release or extend it with. Opaque and URL-safe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receipt(Arc<str>);

impl Receipt {
    /// Takes any text for a receipt; the broker answers `invalid` to what it never gave out.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text of the receipt.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A leased message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message's id: the same on every attempt, to guard the consumer's own side with.
    pub id: MessageId,
    /// What to ack it with.
    pub receipt: Receipt,
    /// The topic it comes from.
    pub topic: Arc<str>,
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
    /// Its priority.
    pub priority: u8,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// When the broker accepted it.
    pub published_at: Time,
    /// When it was due.
    pub deliver_at: Time,
    /// When this delivery left.
    pub delivered_at: Time,
    /// Milliseconds from due until the broker could offer it.
    pub lateness_ms: u64,
    /// Milliseconds from then until this consumer took it.
    pub waited_ms: u64,
    /// When the lease ends and the message is offered again.
    pub lease_expires_at: Time,
    /// Where it failed before, when it comes from a dead-letter topic.
    pub dead_letter: Option<Box<DeadLetterHistory>>,
}

/// Why a message was dead-lettered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadLetterReason {
    /// It failed as often as the subscription allows.
    AttemptsExhausted,
    /// It expired.
    Expired,
}

impl DeadLetterReason {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::Expired => "expired",
        }
    }
}

/// What a dead letter went through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterHistory {
    /// Why it was given up.
    pub reason: DeadLetterReason,
    /// The topic it was published to.
    pub topic: String,
    /// The subscription that could not handle it.
    pub subscription: String,
    /// How often it was delivered.
    pub attempts: u32,
    /// When it was first delivered, if it ever was.
    pub first_delivered_at: Option<Time>,
    /// The error text of the last negative ack that carried one.
    pub last_error: Option<String>,
}
