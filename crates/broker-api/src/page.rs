//! Looking at what is pending: pages, ranges, counts.

use punctual_types::{DelayMs, Time};

use crate::{MessageId, SubscriptionPath, TopicPath};

/// A half-open range of due times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The first millisecond in the range; `None` for the beginning of time.
    pub from: Option<Time>,
    /// The first millisecond after the range; `None` for the end of time.
    pub to: Option<Time>,
}

/// A page of scheduled messages, in due order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Of which topic.
    pub topic: TopicPath,
    /// Only those due in this range.
    pub range: TimeRange,
    /// Only those whose key begins so.
    pub key_prefix: Option<String>,
    /// At most so many, 1 to 1000. A page may be shorter and still have a cursor.
    pub limit: u32,
    /// Where the page before ended. A cursor belongs to the query it came from.
    pub cursor: Option<String>,
    /// Whether bodies are wanted.
    pub with_body: bool,
}

/// A page of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// At most so many, 1 to 1000.
    pub limit: u32,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// A page of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next begins; `None` when this is the last.
    pub next_cursor: Option<String>,
}

/// How much comes due when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineRequest {
    /// Of which topic.
    pub topic: TopicPath,
    /// In which range.
    pub range: TimeRange,
    /// Bucket width: a whole number of minutes, at least one; more than 1000 buckets that hold
    /// anything are refused as `invalid_field`.
    pub bucket: DelayMs,
}

/// A bucket of a timeline that holds messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineBucket {
    /// Its first millisecond: a multiple of the width.
    pub from: Time,
    /// How many messages are due in it.
    pub count: u64,
}

/// Which of a subscription's messages are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionListState {
    /// Those to be delivered.
    Ready,
    /// Those with consumers.
    Leased,
    /// Those that failed and wait to be tried again.
    Retrying,
    /// Those that failed for good and were not redriven.
    Dead,
}

impl SubscriptionListState {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Ready, Self::Leased, Self::Retrying, Self::Dead];

    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Retrying => "retrying",
            Self::Dead => "dead",
        }
    }
}

/// A page of a subscription's messages, looked at without leasing them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionListRequest {
    /// Of which subscription.
    pub subscription: SubscriptionPath,
    /// Only those in this state.
    pub state: SubscriptionListState,
    /// At most so many, 1 to 1000. A page may be shorter or empty and still have a cursor.
    pub limit: u32,
    /// Where the page before ended. A cursor belongs to the query it came from.
    pub cursor: Option<String>,
    /// Whether bodies are wanted.
    pub with_body: bool,
}

/// Which dead letters of a subscription go back to it. What is left out selects every one; what is
/// given is met together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedriveRequest {
    /// At most so many; `None` for no bound.
    pub max: Option<u64>,
    /// Only these messages, up to 10,000; `None` for any.
    pub ids: Option<Vec<MessageId>>,
    /// Only those that were dead-lettered in this range.
    pub range: TimeRange,
}
