//! What a client measures, for Prometheus.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::text::encode,
    metrics::{family::Family, histogram::Histogram},
    registry::Registry,
};
use punctual_broker_api::{DelayMs, SubscriptionPath};

/// Buckets from a millisecond to an hour: handlers that call a cache, and handlers that make a film.
const SECONDS: [f64; 18] =
    [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0];

type Labels = Vec<(String, String)>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// How a message that was handled ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Acked,
    Retried,
    DeadLettered,
    LeaseLost,
    /// The broker's answer did not come before the lease had ended.
    Unsettled,
}

impl Outcome {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Retried => "retried",
            Self::DeadLettered => "dead_lettered",
            Self::LeaseLost => "lease_lost",
            Self::Unsettled => "unsettled",
        }
    }
}

/// Histograms of what workers do. Clones count into the same.
///
/// | name | labels | what |
/// |---|---|---|
/// | `process_seconds` | `topic`, `subscription`, `outcome`, your own | from the handler's begin until its message was settled |
/// | `lateness_seconds` | `topic`, `subscription`, your own | from the due time until this client had the message |
///
/// `outcome` is `acked`, `retried`, `dead_lettered`, `lease_lost`, or `unsettled` when the broker
/// could not be asked in time. Lateness is by the wall clock of this machine against the broker's
/// time, so that a skew between the two is in it; what comes early by that counts as 0.
///
/// Every combination of labels is a series that lives as long as the process. Topics and
/// subscriptions are yours, and so are your own labels ([`crate::Worker::tag`]): keep their values few.
///
/// ```
/// use punctual_client::ClientMetrics;
///
/// let metrics = ClientMetrics::default();
/// // Into a registry of your own ...
/// let mut registry = prometheus_client::registry::Registry::default();
/// metrics.register(registry.sub_registry_with_prefix("punctual_client"));
/// // ... or as a page of its own, with nothing on it before something was handled.
/// assert_eq!(metrics.render(), "# EOF\n");
/// ```
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    process: Histograms,
    lateness: Histograms,
}

impl Default for ClientMetrics {
    fn default() -> Self {
        Self { process: histograms(), lateness: histograms() }
    }
}

fn histograms() -> Histograms {
    Family::new_with_constructor(|| Histogram::new(SECONDS))
}

impl ClientMetrics {
    /// Registers the histograms, under whatever prefix the registry adds.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "process_seconds",
            "Time from the begin of a handler until its message was settled",
            self.process.clone(),
        );
        registry.register(
            "lateness_seconds",
            "Time from due until the client had the message, by the client's wall clock",
            self.lateness.clone(),
        );
    }

    /// The page of these metrics alone, in the OpenMetrics text format that Prometheus reads, each
    /// name prefixed with `punctual_client_`.
    #[must_use]
    pub fn render(&self) -> String {
        let mut registry = Registry::with_prefix("punctual_client");
        self.register(&mut registry);
        let mut page = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut page, &registry);
        page
    }

    pub(crate) fn received(&self, tags: &Tags, late: DelayMs) {
        self.lateness.get_or_create(&tags.0).observe(late.ms() as f64 / 1000.0);
    }

    pub(crate) fn processed(&self, tags: &Tags, outcome: Outcome, took: Duration) {
        let mut labels = tags.0.to_vec();
        labels.push(("outcome".to_owned(), outcome.as_str().to_owned()));
        self.process.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

/// The labels that all messages of a worker share.
#[derive(Clone, Debug)]
pub(crate) struct Tags(Arc<Labels>);

impl Tags {
    pub(crate) fn new(path: &SubscriptionPath, own: Labels) -> Self {
        let topic = ("topic".to_owned(), path.topic.topic.as_str().to_owned());
        let subscription = ("subscription".to_owned(), path.subscription.as_str().to_owned());
        Self(Arc::new([topic, subscription].into_iter().chain(own).collect()))
    }
}
