//! What is counted by topic, for the metrics page: read from the shards' board at a scrape.

use std::{collections::BTreeMap, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};
use punctual_core::{BreakerState, PartitionStats, SubscriptionStats};
use punctual_types::{SubscriptionNumber, TopicNumber};

use super::Inner;
use crate::catalog::Subscription;

/// Topics shown by name; the rest are added up under the name `_other`, so that a page stays small
/// however many topics there are.
const TOPICS_SHOWN_MAX: usize = 1000;

/// Counts of one topic.
#[derive(Clone, Copy, Default)]
struct TopicCounts {
    published: u64,
    delivered: u64,
    acked: u64,
    failed: u64,
    retried: u64,
    dead: u64,
    cancelled: u64,
    scheduled: u64,
    ready: u64,
    leased: u64,
    retrying: u64,
}

impl TopicCounts {
    fn add(&mut self, stats: &PartitionStats) {
        self.published += stats.totals.published;
        self.cancelled += stats.totals.cancelled;
        self.scheduled += stats.scheduled;
        if stats.subscriptions.is_empty() {
            self.ready += stats.retained;
        }
        for subscription in &stats.subscriptions {
            self.delivered += subscription.totals.delivered;
            self.acked += subscription.totals.acked;
            self.failed += subscription.totals.failed;
            self.retried += subscription.totals.retried;
            self.dead += subscription.totals.dead;
            self.ready += subscription.ready;
            self.leased += subscription.leased;
            self.retrying += subscription.retrying;
        }
    }
}

type Name = (String, String);
type SubscriptionName = (String, String, String);
type ReadSubscription = fn(&SubscriptionStats) -> u64;

/// Subscriptions shown; those beyond are left out.
const SUBSCRIPTIONS_SHOWN_MAX: usize = 1000;

const SUBSCRIPTION_GAUGES: [(&str, &str, ReadSubscription); 6] = [
    ("subscription_ready", "Deliveries that wait for a consumer of the subscription", |counted| counted.ready),
    ("subscription_leased", "Deliveries with consumers of the subscription", |counted| counted.leased),
    ("subscription_retrying", "Deliveries of the subscription to be tried again later", |counted| counted.retrying),
    ("subscription_filtered", "Messages that the subscription's filter passed over", |counted| counted.totals.filtered),
    ("subscription_breakers_open", "Partitions on which the subscription's breaker is not closed", |counted| {
        u64::from(counted.breaker != BreakerState::Closed)
    }),
    ("subscription_dead", "Messages that the subscription dead-lettered", |counted| counted.totals.dead),
];
type Read = fn(&TopicCounts) -> u64;

const COUNTERS: [(&str, &str, Read); 7] = [
    ("messages_published", "Messages accepted", |counts| counts.published),
    ("messages_delivered", "Deliveries made", |counts| counts.delivered),
    ("messages_acked", "Deliveries acked", |counts| counts.acked),
    ("deliveries_failed", "Deliveries nacked, or whose lease ended", |counts| counts.failed),
    ("messages_retried", "Messages put onto a retry timeline", |counts| counts.retried),
    ("messages_dead_lettered", "Messages put into a dead-letter topic", |counts| counts.dead),
    ("messages_cancelled", "Messages cancelled or replaced", |counts| counts.cancelled),
];

const GAUGES: [(&str, &str, Read); 4] = [
    ("messages_scheduled", "Messages ahead of the now-line", |counts| counts.scheduled),
    ("messages_ready", "Deliveries that wait for a consumer", |counts| counts.ready),
    ("messages_leased", "Deliveries with consumers", |counts| counts.leased),
    ("messages_retrying", "Deliveries to be tried again later", |counts| counts.retrying),
];

/// Collects the counts.
pub(super) struct Counts {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counts")
    }
}

impl Counts {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    fn by_topic(&self) -> BTreeMap<Name, TopicCounts> {
        let names: BTreeMap<TopicNumber, Name> = {
            let catalog = self.inner.catalog();
            let named = catalog.topics().filter(|topic| self.inner.is_visible(topic)).take(TOPICS_SHOWN_MAX);
            named.map(|topic| (topic.number, (topic.namespace.to_string(), topic.name.to_string()))).collect()
        };
        let mut counts: BTreeMap<Name, TopicCounts> = BTreeMap::new();
        self.inner.shards.board.read(|partition, stats| {
            let name = names.get(&partition.topic).cloned();
            // What is kept ready for dead letters and holds none is not worth a line.
            if name.is_some() || stats.totals.published > 0 {
                counts
                    .entry(name.unwrap_or_else(|| ("_other".to_owned(), "_other".to_owned())))
                    .or_default()
                    .add(stats);
            }
        });
        counts
    }
}

impl Counts {
    /// Each gauge of each subscription, over the partitions of its topic.
    fn by_subscription(&self) -> BTreeMap<SubscriptionName, [u64; SUBSCRIPTION_GAUGES.len()]> {
        let names: BTreeMap<SubscriptionNumber, SubscriptionName> = {
            let catalog = self.inner.catalog();
            let named = catalog.topics().flat_map(|topic| {
                let name = |subscription: &Subscription| {
                    (topic.namespace.to_string(), topic.name.to_string(), subscription.name.to_string())
                };
                topic.subscriptions.values().map(move |subscription| (subscription.number, name(subscription)))
            });
            named.take(SUBSCRIPTIONS_SHOWN_MAX).collect()
        };
        let mut counts: BTreeMap<SubscriptionName, [u64; SUBSCRIPTION_GAUGES.len()]> = BTreeMap::new();
        self.inner.shards.board.read(|_, stats| {
            for counted in &stats.subscriptions {
                let Some(name) = names.get(&counted.subscription) else { continue };
                let sums = counts.entry(name.clone()).or_default();
                for (sum, (_, _, read)) in sums.iter_mut().zip(SUBSCRIPTION_GAUGES) {
                    *sum += read(counted);
                }
            }
        });
        counts
    }

    fn encode_subscriptions(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts = self.by_subscription();
        for (place, (name, help, _)) in SUBSCRIPTION_GAUGES.into_iter().enumerate() {
            let gauge = ConstGauge::new(0i64);
            let mut family = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            for ((namespace, topic, subscription), sums) in &counts {
                let labels = [("namespace", namespace), ("topic", topic), ("subscription", subscription)];
                let value = sums.get(place).and_then(|sum| i64::try_from(*sum).ok()).unwrap_or(i64::MAX);
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts = self.by_topic();
        let labels = |(namespace, topic): &Name| [("namespace", namespace.clone()), ("topic", topic.clone())];
        for (name, help, read) in COUNTERS {
            let counter = ConstCounter::new(0u64);
            let mut family = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            for (topic, counts) in &counts {
                ConstCounter::new(read(counts)).encode(family.encode_family(&labels(topic))?)?;
            }
        }
        for (name, help, read) in GAUGES {
            let gauge = ConstGauge::new(0i64);
            let mut family = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            for (topic, counts) in &counts {
                let value = i64::try_from(read(counts)).unwrap_or(i64::MAX);
                ConstGauge::new(value).encode(family.encode_family(&labels(topic))?)?;
            }
        }
        self.encode_subscriptions(&mut encoder)?;
        let usage = self.inner.store.usage();
        let view = self.inner.clock.view();
        let plain = [
            ("store_disk_bytes", "Bytes of the store on the disk", usage.disk_bytes),
            ("store_free_bytes", "Bytes left on the disk", usage.free_bytes),
            ("store_memory_bytes", "Bytes of the store's buffers and caches", usage.memory_bytes),
            ("clock_step_ms", "Distance between the wall clock and broker time", view.step_ms.unsigned_abs()),
            ("clock_held", "1 while the schedule is held", view.held.into()),
        ];
        for (name, help, value) in plain {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
