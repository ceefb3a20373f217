//! Counters and histograms, and the page of them.

use std::sync::Arc;

use prometheus_client::{
    metrics::{counter::Counter, histogram::Histogram},
    registry::Registry,
};
use punctual_types::{Record, Time};

use crate::clock::Elapsed;

/// Buckets from 50 µs to 100 s, for latencies and lateness.
const SECONDS: [f64; 20] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0, 60.0, 100.0,
];

/// What is measured while messages move. What is counted by topic comes from the shards' own
/// counts, when the page is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    lateness: Histogram,
    publish: Histogram,
    sync: Histogram,
    synced_commits: Counter,
    delivered: Counter,
    damaged: Counter,
    turns: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            lateness: Histogram::new(SECONDS),
            publish: Histogram::new(SECONDS),
            sync: Histogram::new(SECONDS),
            synced_commits: Counter::default(),
            delivered: Counter::default(),
            damaged: Counter::default(),
            turns: Counter::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("lateness_seconds", "Time from due until a message could be offered", self.lateness.clone());
        registry.register(
            "publish_seconds",
            "Time from accepting a publish call until its answer",
            self.publish.clone(),
        );
        registry.register("sync_seconds", "Time that a sync of the store took", self.sync.clone());
        registry.register("synced_commits", "Commits made durable by syncs", self.synced_commits.clone());
        registry.register("deliveries", "Deliveries made since the broker started", self.delivered.clone());
        registry.register(
            "shard_turns",
            "Turns that the shards' workers took: few while nothing happens",
            self.turns.clone(),
        );
        registry.register(
            "damaged_messages",
            "Stored messages that could not be read and were set aside",
            self.damaged.clone(),
        );
    }

    /// Records crossed their line.
    pub(crate) fn crossed(&self, now: Time, records: &[Record]) {
        for record in records {
            self.lateness.observe(now.since(record.position.due).ms() as f64 / 1000.0);
        }
    }

    /// Begins to measure a publish call.
    pub(crate) fn begin(&self) -> Elapsed {
        Elapsed::begin()
    }

    pub(crate) fn published(&self, begun: Elapsed) {
        self.publish.observe(begun.seconds());
    }

    pub(crate) fn delivered(&self, messages: u32) {
        self.delivered.inc_by(messages.into());
    }

    /// A worker takes a turn.
    pub(crate) fn turn(&self) {
        self.turns.inc();
    }

    pub(crate) fn damaged(&self) {
        self.damaged.inc();
    }

    /// An observer for the store.
    pub(crate) fn sync_observer(&self) -> punctual_store_api::SyncObserver {
        let (sync, commits) = (self.sync.clone(), self.synced_commits.clone());
        Arc::new(move |took, covered| {
            sync.observe(took.as_secs_f64());
            commits.inc_by(covered);
        })
    }
}
