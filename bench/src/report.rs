//! What a run found, as text and as one object.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use crate::{consumer::Group, oracle::Received, percentiles::Percentiles, publisher::PublishedLoad};

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// What was run, such as `publish`.
    pub run: &'static str,
    /// The options that matter, for whoever compares runs.
    pub options: BTreeMap<&'static str, String>,
    /// What was published.
    pub published: Option<PublishSide>,
    /// What was consumed, per subscription.
    pub consumed: Vec<ConsumeSide>,
}

/// The publishing half.
#[derive(Debug)]
pub struct PublishSide {
    /// Messages sent.
    pub sent: u64,
    /// Messages stored.
    pub accepted: u64,
    /// Messages not stored, by error code.
    pub failed: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub took: Duration,
    /// From invoked until answered.
    pub latency: Percentiles,
}

/// One subscription's half.
#[derive(Debug)]
pub struct ConsumeSide {
    /// The subscription's number.
    pub subscription: u32,
    /// Deliveries.
    pub delivered: u64,
    /// Messages, each once.
    pub unique: u64,
    /// Acks confirmed.
    pub acked: u64,
    /// Acks not confirmed.
    pub unacked: u64,
    /// Acknowledged publishes that never came.
    pub lost: u64,
    /// Deliveries before their time.
    pub early: u64,
    /// Deliveries of a message that had come.
    pub duplicated: u64,
    /// Bodies that are not what was sent.
    pub altered: u64,
    /// Messages that nobody sent.
    pub phantom: u64,
    /// From the first delivery to the last.
    pub took: Duration,
    /// As the broker says.
    pub lateness_told: Percentiles,
    /// As this side saw it.
    pub lateness_seen: Percentiles,
}

impl PublishSide {
    pub(crate) fn of(load: &PublishedLoad) -> Self {
        Self {
            sent: load.sent,
            accepted: load.accepted,
            failed: load.failed.clone(),
            took: load.took,
            latency: load.latency.clone(),
        }
    }
}

impl ConsumeSide {
    pub(crate) fn of(subscription: u32, group: &Group, received: &Received, lost: u64, took: Duration) -> Self {
        use std::sync::atomic::Ordering;
        Self {
            subscription,
            delivered: received.delivered,
            unique: received.unique,
            acked: group.acked.load(Ordering::Acquire),
            unacked: group.unacked.load(Ordering::Acquire),
            lost,
            early: received.early,
            duplicated: received.duplicated,
            altered: received.altered,
            phantom: received.phantom,
            took,
            lateness_told: received.lateness_told.clone(),
            lateness_seen: received.lateness_seen.clone(),
        }
    }
}

fn per_second(count: u64, took: Duration) -> f64 {
    let seconds = took.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

impl Report {
    /// Whether nothing went wrong: no message refused, lost, early, altered or phantom. A repeated
    /// delivery is allowed by the contract and only counted.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let published = self.published.as_ref().is_none_or(|side| side.failed.is_empty());
        published && self.consumed.iter().all(|side| side.lost + side.early + side.altered + side.phantom == 0)
    }

    /// One object.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut object = json!({"run": self.run, "clean": self.is_clean(), "options": self.options});
        if let Some(side) = &self.published {
            object["publish"] = json!({
                "sent": side.sent, "accepted": side.accepted, "failed": side.failed,
                "seconds": side.took.as_secs_f64(), "per_second": per_second(side.accepted, side.took),
                "latency": side.latency.json(),
            });
        }
        if !self.consumed.is_empty() {
            object["subscriptions"] = self.consumed.iter().map(consume_json).collect();
        }
        object
    }

    /// Lines for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}:", self.run);
        // Writing to a string cannot fail.
        for (name, value) in &self.options {
            let _ = write!(text, " {name}={value}");
        }
        if let Some(side) = &self.published {
            let rate = per_second(side.accepted, side.took);
            let _ = write!(
                text,
                "\npublished  {} of {} in {:.2} s: {rate:.0}/s\n  latency  {}",
                side.accepted,
                side.sent,
                side.took.as_secs_f64(),
                side.latency
            );
            for (code, count) in &side.failed {
                let _ = write!(text, "\n  failed   {count} {code}");
            }
        }
        for side in &self.consumed {
            let rate = per_second(side.delivered, side.took);
            let _ = write!(
                text,
                "\nconsumed   s{}: {} in {:.2} s: {rate:.0}/s, {} acked\n  lateness, broker  {}\n  lateness, client  {}\n  \
                 lost {}  early {}  duplicated {}  altered {}  phantom {}",
                side.subscription,
                side.delivered,
                side.took.as_secs_f64(),
                side.acked,
                side.lateness_told,
                side.lateness_seen,
                side.lost,
                side.early,
                side.duplicated,
                side.altered,
                side.phantom
            );
        }
        text
    }
}

fn consume_json(side: &ConsumeSide) -> Value {
    json!({
        "subscription": format!("s{}", side.subscription), "delivered": side.delivered, "unique": side.unique,
        "acked": side.acked, "unacked": side.unacked, "lost": side.lost, "early": side.early,
        "duplicated": side.duplicated, "altered": side.altered, "phantom": side.phantom,
        "seconds": side.took.as_secs_f64(), "per_second": per_second(side.delivered, side.took),
        "lateness_broker": side.lateness_told.json(), "lateness_client": side.lateness_seen.json(),
    })
}
