//! The catalog in memory.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use punctual_broker_api::{
    Code, Durability, Error, NamespaceSettings, OnExpiry, SubscriptionPath, SubscriptionSettings, TopicPath,
    TopicSettings,
};
use punctual_core::{
    BreakerRules, Filter, Pace, PartitionId, Retry, SubscriptionKind, SubscriptionRules, TopicPlace, TopicRules,
    format::FormatError,
};
use punctual_types::{
    DelayMs, NamespaceName, PartitionNumber, ShardNumber, SubscriptionName, SubscriptionNumber, TopicName, TopicNumber,
    placement,
};

use super::{
    Counters, Entry, NamespaceEntry, Schedules, SubscriptionEntry, TopicEntry, decode, schedule_entry::decode_schedule,
};
use crate::shard::{AnswerWhen, SubscriptionAt};

/// What the name of a topic's in-doubt topic adds to its own.
pub(crate) const IN_DOUBT: &str = ".in_doubt";

/// A topic. Immutable: a change makes a new one.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) number: TopicNumber,
    pub(crate) name: TopicName,
    pub(crate) namespace: NamespaceName,
    /// Its placement: its own number, or that of the topic whose dead letters it takes.
    pub(crate) root: TopicNumber,
    /// Made for dead letters, and shown only once it holds any.
    pub(crate) reserved: bool,
    pub(crate) settings: TopicSettings,
    pub(crate) subscriptions: BTreeMap<SubscriptionName, Arc<Subscription>>,
}

impl Topic {
    /// Where its partitions lie.
    pub(crate) fn place(&self) -> TopicPlace {
        TopicPlace { topic: self.number, root: self.root, partitions: self.settings.partitions }
    }

    /// Its partitions.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = PartitionId> + '_ {
        (0..self.settings.partitions)
            .map(|partition| PartitionId { topic: self.number, partition: PartitionNumber(partition) })
    }

    /// The shard of one of its partitions.
    pub(crate) fn shard(&self, partition: PartitionId, shards: u16) -> ShardNumber {
        placement(self.root, partition.partition, shards)
    }

    /// When answers about its messages leave.
    pub(crate) fn answers(&self) -> AnswerWhen {
        match self.settings.durability {
            Durability::Sync => AnswerWhen::Durable,
            // A store hands every commit to the operating system before it says "written", which is
            // more than `memory` asks for.
            Durability::Async | Durability::Memory => AnswerWhen::Written,
        }
    }

    /// A topic on the same shards with as many partitions, so that one batch writes to both; out of sight
    /// until it is used. What lies there is kept until somebody sees to it, however short a time this topic
    /// keeps messages.
    pub(crate) fn beside(&self, number: TopicNumber, name: TopicName) -> Self {
        let settings = TopicSettings {
            partitions: self.settings.partitions,
            durability: self.settings.durability,
            ..TopicSettings::default()
        };
        let (namespace, root) = (self.namespace.clone(), self.root);
        Self { number, name, namespace, root, reserved: true, settings, subscriptions: BTreeMap::new() }
    }

    /// Whether one batch can write to both.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let same_place = self.root == other.root && self.settings.partitions == other.settings.partitions;
        same_place && self.number != other.number
    }

    /// What its partitions are told, with where its prepared messages are asked after.
    pub(crate) fn rules(&self, in_doubt: Option<TopicNumber>) -> TopicRules {
        TopicRules {
            name: self.name.as_str().into(),
            dedup_window: self.settings.dedup_window,
            offers_wait_for_sync: self.settings.durability == Durability::Sync,
            retention: self.settings.retention,
            keep_acked: self.settings.keep_acked,
            on_expiry: match self.settings.on_expiry {
                OnExpiry::Drop => punctual_core::OnExpiry::Drop,
                OnExpiry::DeadLetter => punctual_core::OnExpiry::DeadLetter,
            },
            in_doubt,
        }
    }

    /// Where a subscription of it lies.
    pub(crate) fn places(&self, subscription: &Subscription, shards: u16) -> Vec<SubscriptionAt> {
        let place = |partition| SubscriptionAt {
            shard: self.shard(partition, shards),
            partition,
            subscription: subscription.number,
        };
        self.partitions().map(place).collect()
    }
}

/// A subscription. Immutable: a change makes a new one.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) number: SubscriptionNumber,
    pub(crate) name: SubscriptionName,
    /// How it reads; fixed when it is made.
    pub(crate) kind: SubscriptionKind,
    pub(crate) settings: SubscriptionSettings,
    pub(crate) dead_letters: TopicPlace,
    pub(crate) dead_letter_name: TopicName,
    pub(crate) paused: bool,
}

impl Subscription {
    /// What the partitions of its topic are told.
    pub(crate) fn rules(&self, partitions: u16) -> SubscriptionRules {
        let retry = self.settings.retry;
        SubscriptionRules {
            kind: self.kind,
            name: self.name.as_str().into(),
            lease: self.settings.lease,
            retry: Retry {
                max_attempts: retry.max_attempts,
                initial: retry.initial,
                multiplier: retry.multiplier,
                max: retry.max,
                jitter: retry.jitter,
            },
            dead_letters: self.dead_letters,
            // An even share each: together they never exceed the bound (which is at least their number).
            max_in_flight: (self.settings.max_in_flight / u32::from(partitions)).max(1),
            paused: self.paused,
            // What is set and what is loaded was read once; it can be read again.
            filter: self.settings.filter.as_deref().and_then(|text| Filter::parse(text).ok()).map(Arc::new),
            ordered: self.settings.ordered,
            breaker: self.settings.breaker.map(|it| BreakerRules {
                failures: it.failures,
                window: it.window,
                pause: it.pause,
            }),
            // An even share each: the whole rate in as many seconds as there are partitions, which
            // leaves no fraction.
            pace: self.settings.max_rate.map(|messages| {
                let per = DelayMs::from_secs(partitions.into());
                Pace { messages, per }
            }),
        }
    }
}

/// A namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace {
    pub(crate) settings: NamespaceSettings,
    pub(crate) topics: BTreeMap<TopicName, Arc<Topic>>,
}

/// Everything by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) namespaces: BTreeMap<NamespaceName, Namespace>,
    pub(crate) counters: Counters,
    pub(crate) schedules: Schedules,
}

impl Catalog {
    /// The catalog of stored entries. The namespace `default` is always there.
    ///
    /// # Errors
    /// When an entry is damaged, or belongs to something that is not there.
    pub(crate) fn load(pieces: Vec<(Bytes, Bytes)>) -> Result<Self, FormatError> {
        let mut catalog = Self::default();
        catalog.namespaces.insert(NamespaceName::default(), Namespace::default());
        let mut names: BTreeMap<TopicNumber, (NamespaceName, TopicName, TopicPlace)> = BTreeMap::new();
        let orphan = |what: &str| FormatError { what: "catalog", detail: format!("{what} belongs to nothing") };
        // Entries come in the order of their families: counters, namespaces, topics, subscriptions.
        let mut schedules = Vec::new();
        for (key, value) in pieces {
            if let Some(state) = decode_schedule(&key, &value)? {
                schedules.push(state);
                continue;
            }
            match decode(&key, value)? {
                Entry::Counters(counters) => catalog.counters = counters,
                Entry::Namespace(NamespaceEntry { name, settings }) => {
                    catalog.namespaces.entry(name).or_default().settings = settings;
                }
                Entry::Topic(TopicEntry { number, namespace, name, root, reserved, settings }) => {
                    let home = catalog.namespaces.get_mut(&namespace).ok_or_else(|| orphan("a topic"))?;
                    let subscriptions = BTreeMap::new();
                    let topic =
                        Topic { number, name: name.clone(), namespace, root, reserved, settings, subscriptions };
                    names.insert(number, (topic.namespace.clone(), name.clone(), topic.place()));
                    home.topics.insert(name, Arc::new(topic));
                }
                Entry::Subscription(entry) => {
                    let (dead_letter_name, dead_letters) = names
                        .get(&entry.dead_letter_topic)
                        .map(|(_, name, place)| (name.clone(), *place))
                        .ok_or_else(|| orphan("a dead-letter topic"))?;
                    let (namespace, topic, _) = names.get(&entry.topic).ok_or_else(|| orphan("a subscription"))?;
                    let topic = catalog.namespaces.get_mut(namespace).and_then(|home| home.topics.get_mut(topic));
                    let topic = Arc::make_mut(topic.ok_or_else(|| orphan("a subscription"))?);
                    let SubscriptionEntry { number, name, kind, settings, paused, .. } = entry;
                    let subscription = Subscription {
                        number,
                        name: name.clone(),
                        kind,
                        settings,
                        dead_letters,
                        dead_letter_name,
                        paused,
                    };
                    topic.subscriptions.insert(name, Arc::new(subscription));
                }
            }
        }
        catalog.schedules = Schedules::load(schedules);
        Ok(catalog)
    }

    pub(crate) fn namespace(&self, name: &NamespaceName) -> Result<&Namespace, Error> {
        self.namespaces.get(name).ok_or_else(|| {
            Error::new(Code::NamespaceNotFound, format!("there is no namespace `{name}`"))
                .with_field("namespace")
                .with_hint("make it first: PUT /v1/namespaces/{namespace} or `punctual ns set`")
        })
    }

    pub(crate) fn topic(&self, path: &TopicPath) -> Result<Arc<Topic>, Error> {
        self.namespace(&path.namespace)?.topics.get(&path.topic).cloned().ok_or_else(|| {
            Error::new(
                Code::TopicNotFound,
                format!("there is no topic `{}` in namespace `{}`", path.topic, path.namespace),
            )
            .with_field("topic")
        })
    }

    pub(crate) fn subscription(&self, path: &SubscriptionPath) -> Result<(Arc<Topic>, Arc<Subscription>), Error> {
        let topic = self.topic(&path.topic)?;
        let subscription = topic.subscriptions.get(&path.subscription).cloned().ok_or_else(|| {
            let message = format!("topic `{}` has no subscription `{}`", path.topic.topic, path.subscription);
            Error::new(Code::SubscriptionNotFound, message).with_field("subscription")
        })?;
        Ok((topic, subscription))
    }

    /// Where a topic's prepared messages are asked after, if that was made.
    pub(crate) fn in_doubt_of(&self, topic: &Topic) -> Option<Arc<Topic>> {
        let name = TopicName::stored(&format!("{}{IN_DOUBT}", topic.name))?;
        self.namespaces.get(&topic.namespace)?.topics.get(&name).filter(|there| there.is_beside(topic)).cloned()
    }

    /// The in-doubt topic of a topic that is to be made, or the topic that is asked after in it: the one that
    /// is made later is put beside the other.
    pub(crate) fn in_doubt_neighbour(&self, path: &TopicPath) -> Option<Arc<Topic>> {
        let topics = &self.namespaces.get(&path.namespace)?.topics;
        let named = |name: &str| topics.get(&TopicName::stored(name)?).cloned();
        let base = path.topic.as_str().strip_suffix(IN_DOUBT).and_then(named);
        base.or_else(|| named(&format!("{}{IN_DOUBT}", path.topic)))
    }

    /// The topic whose prepared messages are asked after in this one.
    pub(crate) fn base_of(&self, in_doubt: &Topic) -> Option<Arc<Topic>> {
        let name = TopicName::stored(in_doubt.name.as_str().strip_suffix(IN_DOUBT)?)?;
        self.namespaces.get(&in_doubt.namespace)?.topics.get(&name).filter(|base| base.is_beside(in_doubt)).cloned()
    }

    /// Every topic.
    pub(crate) fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.namespaces.values().flat_map(|namespace| namespace.topics.values())
    }

    /// Puts a topic, in place of the one of its name.
    pub(crate) fn put_topic(&mut self, topic: Topic) {
        if let Some(home) = self.namespaces.get_mut(&topic.namespace) {
            home.topics.insert(topic.name.clone(), Arc::new(topic));
        }
    }
}
