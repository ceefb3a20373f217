//! Changing the catalog: kept first, then told to the shards, then seen.
//!
//! One hand at a time, and each change runs to its end even if whoever asked for it goes away: a
//! change that was kept but not told would be half a change.

use std::sync::{Arc, PoisonError, RwLockWriteGuard};

use bytes::Bytes;
use punctual_broker_api::{Code, Error};
use punctual_core::{Answer, Command, PartitionId, PublishItem};
use punctual_types::{ShardNumber, SubscriptionNumber, TopicNumber};

use super::{Inner, open::start_of};
use crate::{
    catalog::{Catalog, Counters, Entry, Subscription, SubscriptionEntry, Topic, TopicEntry, keep},
    shard::AnswerWhen,
};

/// The shard that keeps the catalog.
const HOME: ShardNumber = ShardNumber(0);

impl Inner {
    pub(super) fn catalog_mut(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a change to its end, whatever becomes of the caller.
    pub(super) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.check_running()?;
        let inner = self.clone();
        let task = tokio::spawn(async move {
            let _one_hand = inner.admin.lock().await;
            change.await
        });
        task.await.map_err(|error| Error::new(Code::Internal, format!("a change of settings ended early: {error}")))?
    }

    /// Keeps pieces of the catalog; durable when this returns.
    pub(super) async fn keep(&self, pieces: Vec<(Bytes, Option<Bytes>)>) -> Result<(), Error> {
        self.keep_with(pieces, Vec::new()).await
    }

    /// Keeps pieces of the catalog and publishes messages, both or neither and once: each message goes
    /// to its partition's shard as a transfer, and may arrive a moment after this returns.
    pub(super) async fn keep_with(
        &self,
        pieces: Vec<(Bytes, Option<Bytes>)>,
        publishes: Vec<(ShardNumber, PartitionId, PublishItem)>,
    ) -> Result<(), Error> {
        self.shards.ask(HOME, Command::Keep { pieces, publishes }, AnswerWhen::Durable).await.map(drop)
    }

    /// The next topic number. Taken for good, whether or not the change succeeds.
    pub(super) fn next_topic(&self) -> TopicNumber {
        let mut catalog = self.catalog_mut();
        catalog.counters.topic.0 += 1;
        catalog.counters.topic
    }

    /// The next subscription number.
    pub(super) fn next_subscription(&self) -> SubscriptionNumber {
        let mut catalog = self.catalog_mut();
        catalog.counters.subscription.0 += 1;
        catalog.counters.subscription
    }

    /// The piece that keeps the numbers given so far.
    pub(super) fn counters(&self) -> (Bytes, Option<Bytes>) {
        let counters: Counters = self.catalog().counters;
        keep(&Entry::Counters(counters))
    }

    /// Tells a topic's partitions its settings.
    pub(super) async fn configure(&self, topic: &Topic) -> Result<(), Error> {
        let in_doubt = self.catalog().in_doubt_of(topic).map(|in_doubt| in_doubt.number);
        self.tell_partitions(topic, |partition| Command::Configure { partition, rules: topic.rules(in_doubt) }).await
    }

    /// Tells a topic's partitions of a subscription.
    pub(super) async fn configure_subscription(&self, topic: &Topic, subscription: &Subscription) -> Result<(), Error> {
        self.tell_partitions(topic, |partition| Command::Subscribe {
            partition,
            subscription: subscription.number,
            rules: subscription.rules(topic.settings.partitions),
            start: start_of(subscription.settings.start),
        })
        .await
    }

    /// Asks a command of every partition of a topic, all at once; durable when this returns.
    pub(super) async fn tell_partitions(
        &self,
        topic: &Topic,
        command: impl Fn(punctual_core::PartitionId) -> Command,
    ) -> Result<(), Error> {
        let asked = topic.partitions().map(|partition| {
            let shard = topic.shard(partition, self.store.shards());
            self.shards.ask(shard, command(partition), AnswerWhen::Durable)
        });
        let answers: Result<Vec<Answer>, Error> = futures_util::future::join_all(asked).await.into_iter().collect();
        answers.map(drop)
    }
}

/// The entry that keeps a topic.
pub(super) fn topic_entry(topic: &Topic) -> Entry {
    Entry::Topic(TopicEntry {
        number: topic.number,
        namespace: topic.namespace.clone(),
        name: topic.name.clone(),
        root: topic.root,
        reserved: topic.reserved,
        settings: topic.settings,
    })
}

/// The entry that keeps a subscription.
pub(super) fn subscription_entry(topic: &Topic, subscription: &Subscription) -> Entry {
    Entry::Subscription(SubscriptionEntry {
        topic: topic.number,
        number: subscription.number,
        name: subscription.name.clone(),
        kind: subscription.kind,
        settings: subscription.settings.clone(),
        dead_letter_topic: subscription.dead_letters.topic,
        paused: subscription.paused,
    })
}
