//! Topics, subscriptions and namespaces as somebody who asks for them sees them.

use punctual_types::Time;

use crate::{NamespaceSettings, SubscriptionSettings, TopicSettings};

/// What a topic holds and has done. Gauges are exact; totals count since the topic was made, and
/// `delivered_total` may miss the last deliveries before a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicStats {
    /// Messages ahead of the now-line.
    pub scheduled: u64,
    /// Prepared messages.
    pub prepared: u64,
    /// Deliveries waiting, over all subscriptions; without a subscription, messages past the line.
    pub ready: u64,
    /// Deliveries with consumers, over all subscriptions.
    pub leased: u64,
    /// Deliveries waiting to be tried again, over all subscriptions.
    pub retrying: u64,
    /// Dead letters that came from this topic and lie in dead-letter topics.
    pub dead: u64,
    /// Messages accepted.
    pub published_total: u64,
    /// Deliveries made.
    pub delivered_total: u64,
    /// Deliveries acked.
    pub acked_total: u64,
    /// Messages cancelled or replaced.
    pub cancelled_total: u64,
    /// Messages expired.
    pub expired_total: u64,
    /// How long the oldest waiting message has been due, in milliseconds; `None` when none waits.
    pub oldest_ready_age_ms: Option<u64>,
    /// When the next scheduled message is due.
    pub next_due_at: Option<Time>,
}

/// What a subscription holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionStats {
    /// Deliveries waiting.
    pub ready: u64,
    /// Deliveries with consumers.
    pub leased: u64,
    /// Deliveries waiting to be tried again.
    pub retrying: u64,
    /// Dead letters of this subscription.
    pub dead: u64,
    /// Deliveries made.
    pub delivered_total: u64,
    /// Deliveries acked.
    pub acked_total: u64,
    /// Deliveries that failed: nacked, or their lease ended.
    pub failed_total: u64,
    /// Messages that its filter passed over.
    pub filtered_total: u64,
    /// Messages that expired before this subscription settled them.
    pub expired_total: u64,
    /// How long the oldest waiting message has been due, in milliseconds.
    pub oldest_ready_age_ms: Option<u64>,
    /// What its breaker does; `None` when it has none.
    pub breaker: Option<BreakerState>,
}

/// What a subscription's breaker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Messages are offered.
    Closed,
    /// None is offered until its pause is over.
    Open,
    /// One is offered, to see whether consumers work again.
    Probing,
}

impl BreakerState {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::Probing => "probing",
        }
    }
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicView {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: TopicSettings,
    /// What it holds and has done.
    pub stats: TopicStats,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionView {
    /// Its name.
    pub name: String,
    /// Its settings; `dead_letter_topic` holds the name in force.
    pub settings: SubscriptionSettings,
    /// Whether it is paused.
    pub paused: bool,
    /// What it holds and has done.
    pub stats: SubscriptionStats,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceView {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: NamespaceSettings,
    /// How many topics it has.
    pub topics: u64,
}

/// The answer to a PUT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put<T> {
    /// The object as it is now.
    pub object: T,
    /// Whether it was made by this call.
    pub created: bool,
}
