//! Topics: list, read, make, change, delete.

use std::{collections::BTreeSet, sync::Arc};

use punctual_broker_api::{
    Code, Error, Page, PageRequest, Put, TopicPatch, TopicPath, TopicSettings, TopicStats, TopicView,
};
use punctual_core::{Answer, Command, PartitionStats, SubscriptionKind};
use punctual_types::{NamespaceName, limits};

use super::{
    Inner,
    admin::{subscription_entry, topic_entry},
    cursor::{after_name, read_name},
    validate::check_range,
};
use crate::catalog::{Subscription, Topic, forget, keep};

/// Takes a page of names from an ordered run of them.
pub(super) fn page_of<T>(
    inner: &Inner,
    query: &[u8],
    request: &PageRequest,
    named: impl Iterator<Item = (String, T)>,
) -> Result<Page<T>, Error> {
    check_range("limit", request.limit, 1, limits::PAGE_MAX)?;
    let after = request.cursor.as_ref().map(|cursor| read_name(&inner.hash, query, cursor)).transpose()?;
    let mut rest = named.filter(|(name, _)| after.as_ref().is_none_or(|after| name > after));
    let mut items = Vec::new();
    let mut last = None;
    for (name, item) in rest.by_ref().take(request.limit as usize) {
        last = Some(name);
        items.push(item);
    }
    let next_cursor = match (rest.next(), last) {
        (Some(_), Some(last)) => Some(after_name(&inner.hash, query, &last)),
        _ => None,
    };
    Ok(Page { items, next_cursor })
}

impl Inner {
    /// Whether a topic is there as far as anybody can see: one that is kept ready for dead letters
    /// shows once it holds any.
    pub(super) fn is_visible(&self, topic: &Topic) -> bool {
        !topic.reserved
            || !topic.subscriptions.is_empty()
            || topic.partitions().any(|partition| self.shards.board.is_used(partition))
    }

    /// Counts of every partition of a topic.
    pub(super) async fn partition_stats(&self, topic: &Topic) -> Result<Vec<PartitionStats>, Error> {
        let asked = topic.partitions().map(|partition| {
            self.shards.ask(topic.shard(partition, self.store.shards()), Command::Stats { partition }, topic.answers())
        });
        let mut all = Vec::new();
        for answer in futures_util::future::join_all(asked).await {
            match answer? {
                Answer::Stats(stats) => all.push(stats),
                _ => {
                    return Err(Error::new(
                        Code::TopicNotFound,
                        format!("topic `{}` was deleted meanwhile", topic.name),
                    ));
                }
            }
        }
        Ok(all)
    }

    async fn topic_view(&self, topic: &Topic) -> Result<TopicView, Error> {
        let partitions = self.partition_stats(topic).await?;
        let now = self.clock.now().floor;
        let mut stats = TopicStats::default();
        let mut oldest = None;
        for partition in &partitions {
            stats.scheduled += partition.scheduled;
            stats.published_total += partition.totals.published;
            stats.cancelled_total += partition.totals.cancelled;
            stats.prepared += partition.prepared;
            stats.expired_total += partition.totals.expired;
            stats.next_due_at = [stats.next_due_at, partition.next_due].into_iter().flatten().min();
            if partition.subscriptions.is_empty() {
                stats.ready += partition.retained;
            }
            for subscription in &partition.subscriptions {
                stats.ready += subscription.ready;
                stats.leased += subscription.leased;
                stats.retrying += subscription.retrying;
                stats.dead += subscription.totals.dead;
                stats.delivered_total += subscription.totals.delivered;
                stats.acked_total += subscription.totals.acked;
                oldest = [oldest, subscription.oldest_due].into_iter().flatten().min();
            }
        }
        stats.oldest_ready_age_ms = oldest.map(|due| now.since(due).ms());
        Ok(TopicView { name: topic.name.to_string(), settings: topic.settings, stats })
    }

    pub(super) async fn list_topics(
        self: &Arc<Self>,
        namespace: NamespaceName,
        request: PageRequest,
    ) -> Result<Page<TopicView>, Error> {
        let query = format!("topics {namespace}");
        let topics: Vec<_> = self.catalog().namespace(&namespace)?.topics.values().cloned().collect();
        let named =
            topics.into_iter().filter(|topic| self.is_visible(topic)).map(|topic| (topic.name.to_string(), topic));
        let page = page_of(self, query.as_bytes(), &request, named)?;
        let mut items = Vec::with_capacity(page.items.len());
        for topic in page.items {
            items.push(self.topic_view(&topic).await?);
        }
        Ok(Page { items, next_cursor: page.next_cursor })
    }

    pub(super) async fn get_topic(self: &Arc<Self>, path: TopicPath) -> Result<TopicView, Error> {
        let topic = self.catalog().topic(&path)?;
        self.topic_view(&topic).await
    }

    pub(super) async fn put_topic(
        self: &Arc<Self>,
        path: TopicPath,
        patch: TopicPatch,
    ) -> Result<Put<TopicView>, Error> {
        let (topic, created) = self.create_or_change_topic(path, patch).await?;
        Ok(Put { object: self.topic_view(&topic).await?, created })
    }

    /// Makes a topic, or changes the one there is; answers whether it was made.
    pub(super) async fn create_or_change_topic(
        self: &Arc<Self>,
        path: TopicPath,
        patch: TopicPatch,
    ) -> Result<(Arc<Topic>, bool), Error> {
        let inner = self.clone();
        self.change(async move {
            let found = inner.catalog().topic(&path);
            let (topic, created) = match found {
                Ok(topic) => (inner.changed_topic(&topic, patch)?, !inner.is_visible(&topic)),
                Err(error) if error.code == Code::TopicNotFound => (inner.new_topic(&path, patch)?, true),
                Err(error) => return Err(error),
            };
            inner.keep(vec![inner.counters(), keep(&topic_entry(&topic))]).await?;
            inner.configure(&topic).await?;
            inner.catalog_mut().put_topic(topic.clone());
            inner.configure_base(&topic).await?;
            Ok((inner.catalog().topic(&path)?, created))
        })
        .await
    }

    fn new_topic(&self, path: &TopicPath, patch: TopicPatch) -> Result<Topic, Error> {
        let neighbour = self.catalog().in_doubt_neighbour(path);
        let partitions = neighbour.as_ref().map_or(1, |neighbour| neighbour.settings.partitions);
        let settings = settings_of(TopicSettings { partitions, ..TopicSettings::default() }, patch)?;
        self.check_topic_room(path)?;
        let number = self.next_topic();
        let beside = neighbour.filter(|neighbour| neighbour.settings.partitions == settings.partitions);
        Ok(Topic {
            number,
            name: path.topic.clone(),
            namespace: path.namespace.clone(),
            root: beside.map_or(number, |neighbour| neighbour.root),
            reserved: false,
            settings,
            subscriptions: Default::default(),
        })
    }

    fn check_topic_room(&self, path: &TopicPath) -> Result<(), Error> {
        // What is kept ready for dead letters was not asked for, and does not count.
        let count = self.catalog().namespace(&path.namespace)?.topics.values().filter(|topic| !topic.reserved).count();
        if count < self.limits.topics_max {
            return Ok(());
        }
        let text =
            format!("cannot make topic `{}`: namespace `{}` has {count} topics, the limit", path.topic, path.namespace);
        Err(Error::new(Code::TooManyTopics, text)
            .with_hint("delete topics that are no longer used")
            .with_retry_after_ms(60_000))
    }

    fn changed_topic(&self, topic: &Topic, patch: TopicPatch) -> Result<Topic, Error> {
        let settings = settings_of(topic.settings, patch)?;
        if settings.partitions != topic.settings.partitions {
            let text = format!(
                "cannot change `partitions` of topic `{}` from {} to {}: it is fixed when the topic is made",
                topic.name, topic.settings.partitions, settings.partitions
            );
            return Err(Error::new(Code::SettingFixed, text).with_field("partitions"));
        }
        if settings.priorities < topic.settings.priorities {
            let text = format!(
                "cannot lower `priorities` of topic `{}` from {} to {}: messages of the higher ones may be there",
                topic.name, topic.settings.priorities, settings.priorities
            );
            return Err(Error::new(Code::SettingFixed, text).with_field("priorities"));
        }
        let ordered = topic.subscriptions.values().find(|subscription| subscription.settings.ordered);
        if let Some(ordered) = ordered.filter(|_| settings.priorities > 1) {
            let text = format!(
                "cannot give topic `{}` {} priorities: its subscription `{}` is ordered",
                topic.name, settings.priorities, ordered.name
            );
            return Err(Error::new(Code::SettingFixed, text).with_field("priorities"));
        }
        let stream = topic.subscriptions.values().find(|subscription| subscription.kind == SubscriptionKind::Stream);
        if let Some(stream) = stream.filter(|_| settings.priorities > 1) {
            let text = format!(
                "cannot give topic `{}` {} priorities: its subscription `{}` is a stream",
                topic.name, settings.priorities, stream.name
            );
            return Err(Error::new(Code::SettingFixed, text).with_field("priorities"));
        }
        Ok(Topic { settings, reserved: false, ..topic.clone() })
    }

    pub(super) async fn delete_topic(self: &Arc<Self>, path: TopicPath) -> Result<(), Error> {
        let inner = self.clone();
        self.change(async move {
            let topic = inner.catalog().topic(&path)?;
            inner.replace_dead_letter_topic(&topic).await?;
            inner.delete_topics(vec![topic.clone()]).await?;
            inner.replace_in_doubt(&topic).await
        })
        .await
    }

    /// Gives the subscriptions whose dead letters went to a topic that is to be deleted a fresh one
    /// of the same name: what fails for them from here on must have a place.
    async fn replace_dead_letter_topic(&self, old: &Topic) -> Result<(), Error> {
        let senders: Vec<(Arc<Topic>, Subscription)> = {
            let catalog = self.catalog();
            let others = catalog.topics().filter(|topic| topic.number != old.number);
            let all =
                others.flat_map(|topic| topic.subscriptions.values().map(|it| (topic.clone(), it.as_ref().clone())));
            all.filter(|(_, subscription)| subscription.dead_letters.topic == old.number).collect()
        };
        if senders.is_empty() {
            return Ok(());
        }
        let fresh =
            Topic { number: self.next_topic(), reserved: true, subscriptions: Default::default(), ..old.clone() };
        let mut pieces = vec![self.counters(), keep(&topic_entry(&fresh)), forget(&topic_entry(old))];
        let senders: Vec<_> = senders
            .into_iter()
            .map(|(topic, subscription)| (topic, Subscription { dead_letters: fresh.place(), ..subscription }))
            .collect();
        pieces.extend(senders.iter().map(|(topic, subscription)| keep(&subscription_entry(topic, subscription))));
        pieces.extend(old.subscriptions.values().map(|subscription| forget(&subscription_entry(old, subscription))));
        self.keep(pieces).await?;
        self.configure(&fresh).await?;
        for (topic, subscription) in senders {
            self.configure_subscription(&topic, &subscription).await?;
            let path = TopicPath { namespace: topic.namespace.clone(), topic: topic.name.clone() };
            self.put_into_topic(&path, subscription)?;
        }
        self.catalog_mut().put_topic(fresh);
        Ok(())
    }

    /// Deletes topics with all they hold. Forgotten durably first, so that nothing of them
    /// reappears; dropping what they held follows, and is done again at the next start if it is cut
    /// short.
    pub(super) async fn delete_topics(&self, topics: Vec<Arc<Topic>>) -> Result<(), Error> {
        self.forget_topics(&topics).await?;
        self.drop_unused_dead_letter_topics().await
    }

    /// Deletes what was kept ready for dead letters that no subscription sends any more, unless it
    /// holds some.
    pub(super) async fn drop_unused_dead_letter_topics(&self) -> Result<(), Error> {
        let unused: Vec<_> = {
            let catalog = self.catalog();
            let letters =
                catalog.topics().flat_map(|topic| topic.subscriptions.values().map(|it| it.dead_letters.topic));
            let in_doubt = catalog.topics().filter_map(|topic| Some(catalog.in_doubt_of(topic)?.number));
            let sent_to: BTreeSet<_> = letters.chain(in_doubt).collect();
            let kept_ready = catalog.topics().filter(|topic| topic.reserved && !self.is_visible(topic));
            kept_ready.filter(|topic| !sent_to.contains(&topic.number)).cloned().collect()
        };
        if unused.is_empty() { Ok(()) } else { self.forget_topics(&unused).await }
    }

    async fn forget_topics(&self, all: &[Arc<Topic>]) -> Result<(), Error> {
        let mut pieces = Vec::new();
        for topic in all {
            pieces.push(forget(&topic_entry(topic)));
            pieces.extend(
                topic.subscriptions.values().map(|subscription| forget(&subscription_entry(topic, subscription))),
            );
        }
        self.keep(pieces).await?;
        for topic in all {
            if let Some(home) = self.catalog_mut().namespaces.get_mut(&topic.namespace) {
                // A fresh one may have taken the name already.
                home.topics.retain(|_, there| there.number != topic.number);
            }
        }
        for topic in all {
            self.tell_partitions(topic, |partition| Command::DeletePartition { partition }).await?;
        }
        Ok(())
    }
}

/// The settings after a change, checked.
fn settings_of(current: TopicSettings, patch: TopicPatch) -> Result<TopicSettings, Error> {
    let default = TopicSettings::default();
    let retention = match patch.retention {
        punctual_broker_api::Patch::Keep => current.retention,
        punctual_broker_api::Patch::Reset => None,
        punctual_broker_api::Patch::Set(retention) => Some(retention),
    };
    let settings = TopicSettings {
        partitions: patch.partitions.apply(current.partitions, default.partitions),
        priorities: patch.priorities.apply(current.priorities, default.priorities),
        durability: patch.durability.apply(current.durability, default.durability),
        retention,
        keep_acked: patch.keep_acked.apply(current.keep_acked, default.keep_acked),
        on_expiry: patch.on_expiry.apply(current.on_expiry, default.on_expiry),
        dedup_window: patch.dedup_window.apply(current.dedup_window, default.dedup_window),
    };
    check_range("partitions", settings.partitions, 1, limits::PARTITIONS_MAX)?;
    check_range("priorities", settings.priorities, 1, limits::PRIORITIES_MAX)?;
    Ok(settings)
}
