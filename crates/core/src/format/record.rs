//! A message as it lies on a timeline.
//!
//! The body comes last and is shared with the stored bytes when read, not copied.

use bytes::Bytes;
use punctual_types::{DelayMs, MessageRef, PartitionNumber, SubscriptionNumber, Time, TopicNumber};

use super::{
    FormatError,
    fields::{FieldReader, FieldWriter, field_len},
};
use crate::state::PartitionId;

const WHAT: &str = "message";
const VERSION: u8 = 1;

// Tags. Never reused.
const MESSAGE: u8 = 1;
const PUBLISHED_AT: u8 = 2;
const DELIVER_AT: u8 = 3;
const KEY: u8 = 4;
const DEDUP_ID: u8 = 5;
const ORDERING_KEY: u8 = 6;
const TAG: u8 = 7;
const HEADERS: u8 = 8;
const EXPIRES_AFTER: u8 = 9;
const ATTEMPTS: u8 = 10;
const FIRST_DELIVERED_AT: u8 = 11;
const LAST_ERROR: u8 = 12;
const DEAD_REASON: u8 = 13;
const DEAD_TOPIC: u8 = 14;
const DEAD_SUBSCRIPTION: u8 = 15;
const BODY: u8 = 16;
const DEAD_ATTEMPTS: u8 = 17;
const DEAD_FIRST_DELIVERED_AT: u8 = 18;
const DEAD_LAST_ERROR: u8 = 19;
const CHECKS: u8 = 20;
const PREPARE_TIMEOUT: u8 = 21;
const CHECKS_MAX: u8 = 22;
const DEAD_FROM: u8 = 23;

/// Where a message that lies in a dead-letter topic failed. The reason is `core`'s number for it: 1 attempts exhausted, 2 expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetter {
    /// Why it was given up.
    pub reason: u8,
    /// The topic it was published to.
    pub topic: String,
    /// The subscription that could not handle it.
    pub subscription: String,
    /// How often it was delivered there.
    pub attempts: u32,
    /// When it was first delivered there, if it ever was.
    pub first_delivered_at: Option<Time>,
    /// The error text of the last failure that had one.
    pub last_error: Option<String>,
    /// The same by number, which a topic or subscription that is made again does not have.
    pub from: Option<LetterSource>,
}

/// Which subscription gave a message up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetterSource {
    /// On which partition.
    pub partition: PartitionId,
    /// Which.
    pub subscription: SubscriptionNumber,
}

impl LetterSource {
    const BYTES: usize = 4 + 2 + 4;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let [a, b, c, d] = self.partition.topic.0.to_be_bytes();
        let [e, f] = self.partition.partition.0.to_be_bytes();
        let [g, h, i, j] = self.subscription.0.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j]
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, i, j] = *<&[u8; Self::BYTES]>::try_from(bytes).ok()?;
        let topic = TopicNumber(u32::from_be_bytes([a, b, c, d]));
        let partition = PartitionId { topic, partition: PartitionNumber(u16::from_be_bytes([e, f])) };
        Some(Self { partition, subscription: SubscriptionNumber(u32::from_be_bytes([g, h, i, j])) })
    }
}

impl DeadLetter {
    /// It failed as often as the subscription allows.
    pub const ATTEMPTS_EXHAUSTED: u8 = 1;
    /// It expired.
    pub const EXPIRED: u8 = 2;

    fn bytes(&self) -> usize {
        64 + self.topic.len() + self.subscription.len() + self.last_error.as_ref().map_or(0, String::len)
    }
}

/// How a message that waits for its producer's decision is asked after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// How long it may be in doubt until it is asked after, the first time and each time again.
    pub timeout: DelayMs,
    /// How often it is asked after before it is rolled back.
    pub max_checks: u32,
    /// How often it was asked after.
    pub checks: u32,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Where it was first inserted: its id, kept over moves, retries and dead-lettering.
    pub message: MessageRef,
    /// When it was accepted.
    pub published_at: Time,
    /// When it is due; for a retry or a dead letter, when the original was.
    pub deliver_at: Time,
    /// The caller's own handle.
    pub key: Option<String>,
    /// The dedup id.
    pub dedup_id: Option<String>,
    /// The ordering key.
    pub ordering_key: Option<String>,
    /// The tag.
    pub tag: Option<String>,
    /// Headers, exactly as sent.
    pub headers: Vec<(String, String)>,
    /// When it expires after its due time.
    pub expires_after: Option<DelayMs>,
    /// Deliveries that failed before this copy was made.
    pub attempts: u32,
    /// The first delivery, once there was one.
    pub first_delivered_at: Option<Time>,
    /// The error text of the last failure that had one.
    pub last_error: Option<String>,
    /// Where it failed, if it is a dead letter.
    pub dead_letter: Option<DeadLetter>,
    /// How it is asked after, while it waits for its producer's decision.
    pub prepared: Option<Prepared>,
    /// The body.
    pub body: Bytes,
}

impl MessageRecord {
    /// A fresh message with nothing but a body.
    #[must_use]
    pub fn new(message: MessageRef, published_at: Time, body: Bytes) -> Self {
        Self {
            message,
            published_at,
            deliver_at: message.first.due,
            key: None,
            dedup_id: None,
            ordering_key: None,
            tag: None,
            headers: Vec::new(),
            expires_after: None,
            attempts: 0,
            first_delivered_at: None,
            last_error: None,
            dead_letter: None,
            prepared: None,
            body,
        }
    }

    /// When it expires, if it does before the end of the year 9999.
    #[must_use]
    pub fn expires_at(&self) -> Option<Time> {
        self.deliver_at.checked_add(self.expires_after?)
    }

    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let texts = [&self.key, &self.dedup_id, &self.ordering_key, &self.tag, &self.last_error];
        let text_bytes: usize = texts.into_iter().flatten().map(|text| field_len(text.len())).sum();
        let header_bytes: usize = self.headers.iter().map(|(name, value)| 8 + name.len() + value.len()).sum();
        let dead_bytes = self.dead_letter.as_ref().map_or(0, DeadLetter::bytes);
        let capacity = 96 + text_bytes + header_bytes + dead_bytes + self.body.len();
        let mut out = FieldWriter::new(VERSION, capacity);
        out.bytes(MESSAGE, &self.message.to_bytes());
        out.number(PUBLISHED_AT, self.published_at.unix_ms());
        // A message that never moved is due where it was first inserted.
        if self.deliver_at != self.message.first.due {
            out.number(DELIVER_AT, self.deliver_at.unix_ms());
        }
        out.text(KEY, self.key.as_deref()).text(DEDUP_ID, self.dedup_id.as_deref());
        out.text(ORDERING_KEY, self.ordering_key.as_deref()).text(TAG, self.tag.as_deref());
        if !self.headers.is_empty() {
            out.bytes(HEADERS, &encode_headers(&self.headers, header_bytes));
        }
        if let Some(expires_after) = self.expires_after {
            out.bytes(EXPIRES_AFTER, &expires_after.ms().to_be_bytes());
        }
        out.number(ATTEMPTS, self.attempts.into());
        out.number(FIRST_DELIVERED_AT, self.first_delivered_at.map_or(0, Time::unix_ms));
        out.text(LAST_ERROR, self.last_error.as_deref());
        if let Some(dead) = &self.dead_letter {
            out.number(DEAD_REASON, dead.reason.into());
            out.bytes(DEAD_TOPIC, dead.topic.as_bytes()).bytes(DEAD_SUBSCRIPTION, dead.subscription.as_bytes());
            out.number(DEAD_ATTEMPTS, dead.attempts.into());
            out.number(DEAD_FIRST_DELIVERED_AT, dead.first_delivered_at.map_or(0, Time::unix_ms));
            out.text(DEAD_LAST_ERROR, dead.last_error.as_deref());
            if let Some(from) = dead.from {
                out.bytes(DEAD_FROM, &from.to_bytes());
            }
        }
        if let Some(prepared) = &self.prepared {
            out.number(CHECKS, prepared.checks.into());
            out.bytes(PREPARE_TIMEOUT, &prepared.timeout.ms().to_be_bytes());
            out.number(CHECKS_MAX, prepared.max_checks.into());
        }
        out.bytes(BODY, &self.body);
        out.finish()
    }

    /// Reads the stored form; the body shares its bytes.
    ///
    /// # Errors
    /// When it is damaged or of a later version.
    pub fn decode(value: Bytes) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(WHAT, VERSION, value)?;
        let mut message = None;
        let mut record = Self::new(
            MessageRef {
                topic: punctual_types::TopicNumber(0),
                partition: punctual_types::PartitionNumber(0),
                priority: 0,
                first: punctual_types::Position::MIN,
            },
            Time::ZERO,
            Bytes::new(),
        );
        let (mut deliver_at, mut body) = (None, None);
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                MESSAGE => message = value.as_ref().try_into().ok().and_then(MessageRef::from_bytes),
                PUBLISHED_AT => record.published_at = fields.as_time(&value)?,
                DELIVER_AT => deliver_at = Some(fields.as_time(&value)?),
                HEADERS => record.headers = decode_headers(&value)?,
                EXPIRES_AFTER => record.expires_after = Some(DelayMs::from_ms(fields.as_number(&value)?)),
                BODY => body = Some(value),
                _ => record.decode_rare(&fields, tag, &value)?,
            }
        }
        // Written last, also when it is empty: a record that was cut off between fields is told so.
        record.body = body.ok_or_else(|| FormatError::new(WHAT, "has no body"))?;
        record.message = message.ok_or_else(|| FormatError::new(WHAT, "has no readable id"))?;
        record.deliver_at = deliver_at.unwrap_or(record.message.first.due);
        Ok(record)
    }

    /// Texts, and what only retries and dead letters have.
    fn decode_rare(&mut self, fields: &FieldReader, tag: u8, value: &[u8]) -> Result<(), FormatError> {
        let narrow = || FormatError::new(WHAT, "has a number that is too large for its field");
        match tag {
            KEY => self.key = Some(fields.as_text(value)?),
            DEDUP_ID => self.dedup_id = Some(fields.as_text(value)?),
            ORDERING_KEY => self.ordering_key = Some(fields.as_text(value)?),
            TAG => self.tag = Some(fields.as_text(value)?),
            ATTEMPTS => self.attempts = u32::try_from(fields.as_number(value)?).map_err(|_| narrow())?,
            FIRST_DELIVERED_AT => self.first_delivered_at = Some(fields.as_time(value)?),
            LAST_ERROR => self.last_error = Some(fields.as_text(value)?),
            DEAD_REASON => self.dead().reason = u8::try_from(fields.as_number(value)?).map_err(|_| narrow())?,
            DEAD_TOPIC => self.dead().topic = fields.as_text(value)?,
            DEAD_SUBSCRIPTION => self.dead().subscription = fields.as_text(value)?,
            DEAD_ATTEMPTS => self.dead().attempts = u32::try_from(fields.as_number(value)?).map_err(|_| narrow())?,
            DEAD_FIRST_DELIVERED_AT => self.dead().first_delivered_at = Some(fields.as_time(value)?),
            DEAD_LAST_ERROR => self.dead().last_error = Some(fields.as_text(value)?),
            DEAD_FROM => {
                let broken = || FormatError::new(WHAT, "has a source of another length");
                self.dead().from = Some(LetterSource::from_bytes(value).ok_or_else(broken)?);
            }
            CHECKS => self.prepared().checks = u32::try_from(fields.as_number(value)?).map_err(|_| narrow())?,
            PREPARE_TIMEOUT => self.prepared().timeout = DelayMs::from_ms(fields.as_number(value)?),
            CHECKS_MAX => self.prepared().max_checks = u32::try_from(fields.as_number(value)?).map_err(|_| narrow())?,
            // A field of a later version.
            _ => {}
        }
        Ok(())
    }
}

impl MessageRecord {
    fn dead(&mut self) -> &mut DeadLetter {
        self.dead_letter.get_or_insert_default()
    }

    fn prepared(&mut self) -> &mut Prepared {
        self.prepared.get_or_insert_default()
    }
}

fn encode_headers(headers: &[(String, String)], capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    for (name, value) in headers {
        for text in [name, value] {
            // Header limits keep both far below 32 bits.
            out.extend_from_slice(&(text.len() as u32).to_be_bytes());
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

fn decode_headers(mut rest: &[u8]) -> Result<Vec<(String, String)>, FormatError> {
    let broken = || FormatError::new(WHAT, "has broken headers");
    let mut text = || -> Result<Option<String>, FormatError> {
        let Some((length, after)) = rest.split_first_chunk::<4>() else {
            return if rest.is_empty() { Ok(None) } else { Err(broken()) };
        };
        let length = u32::from_be_bytes(*length) as usize;
        let (bytes, after) = after.split_at_checked(length).ok_or_else(broken)?;
        rest = after;
        std::str::from_utf8(bytes).map(|text| Some(text.to_owned())).map_err(|_| broken())
    };
    let mut headers = Vec::new();
    while let Some(name) = text()? {
        headers.push((name, text()?.ok_or_else(broken)?));
    }
    Ok(headers)
}
