//! Subscriptions: list, read, make, change, pause, move, delete.

use std::sync::Arc;

use punctual_broker_api::{
    Code, Error, Page, PageRequest, Patch, Put, RetryPatch, RetryPolicy, SeekTo, Start, SubscriptionPatch,
    SubscriptionPath, SubscriptionSettings, SubscriptionStats, SubscriptionView, TopicPatch, TopicPath,
};
use punctual_core::{Command, SubscriptionKind};
use punctual_types::{Time, TopicName, limits};

use super::{
    Inner,
    admin::{subscription_entry, topic_entry},
    delivery_rules::{breaker_of, check_delivery, check_order},
    topics::page_of,
    validate::{check_lease, check_range},
};
use crate::catalog::{Subscription, Topic, forget, keep};

/// Names that are tried for the dead letters of a subscription that chose none.
const DEAD_LETTER_NAMES_MAX: u32 = 100;

impl Inner {
    pub(super) async fn list_subscriptions(
        self: &Arc<Self>,
        path: TopicPath,
        request: PageRequest,
    ) -> Result<Page<SubscriptionView>, Error> {
        let topic = self.catalog().topic(&path)?;
        let query = format!("subscriptions {}", topic.number);
        let named =
            topic.subscriptions.values().map(|subscription| (subscription.name.to_string(), subscription.clone()));
        let page = page_of(self, query.as_bytes(), &request, named)?;
        let mut items = Vec::with_capacity(page.items.len());
        for subscription in page.items {
            items.push(self.subscription_view(&topic, &subscription).await?);
        }
        Ok(Page { items, next_cursor: page.next_cursor })
    }

    pub(super) async fn get_subscription(self: &Arc<Self>, path: SubscriptionPath) -> Result<SubscriptionView, Error> {
        let (topic, subscription) = self.catalog().subscription(&path)?;
        self.subscription_view(&topic, &subscription).await
    }

    async fn subscription_view(&self, topic: &Topic, subscription: &Subscription) -> Result<SubscriptionView, Error> {
        let partitions = self.partition_stats(topic).await?;
        let ours =
            partitions.iter().flat_map(|it| &it.subscriptions).filter(|it| it.subscription == subscription.number);
        let breaker = breaker_of(ours.clone().map(|counted| counted.breaker));
        let mut stats = SubscriptionStats::default();
        let mut oldest = None;
        for counted in ours {
            stats.ready += counted.ready;
            stats.leased += counted.leased;
            stats.retrying += counted.retrying;
            stats.dead += counted.totals.dead;
            stats.delivered_total += counted.totals.delivered;
            stats.acked_total += counted.totals.acked;
            stats.failed_total += counted.totals.failed;
            stats.expired_total += counted.totals.expired;
            stats.filtered_total += counted.totals.filtered;
            oldest = [oldest, counted.oldest_due].into_iter().flatten().min();
        }
        stats.breaker = subscription.settings.breaker.map(|_| breaker);
        stats.oldest_ready_age_ms = oldest.map(|due: Time| self.clock.now().floor.since(due).ms());
        let dead_letter_topic = Some(subscription.dead_letter_name.to_string());
        Ok(SubscriptionView {
            name: subscription.name.to_string(),
            settings: SubscriptionSettings { dead_letter_topic, ..subscription.settings.clone() },
            paused: subscription.paused,
            stats,
        })
    }

    pub(super) async fn put_subscription(
        self: &Arc<Self>,
        path: SubscriptionPath,
        patch: SubscriptionPatch,
    ) -> Result<Put<SubscriptionView>, Error> {
        let created = self.create_or_change_subscription(path.clone(), patch).await?;
        Ok(Put { object: self.get_subscription(path).await?, created })
    }

    /// Makes a subscription, with its topic, or changes the one there is; answers whether it was
    /// made.
    pub(super) async fn create_or_change_subscription(
        self: &Arc<Self>,
        path: SubscriptionPath,
        patch: SubscriptionPatch,
    ) -> Result<bool, Error> {
        self.make_subscription(path, patch, SubscriptionKind::Shared).await
    }

    /// The same; one that is made is of this kind, one that is there keeps its own.
    pub(super) async fn make_subscription(
        self: &Arc<Self>,
        path: SubscriptionPath,
        patch: SubscriptionPatch,
        kind: SubscriptionKind,
    ) -> Result<bool, Error> {
        // Refused before anything is made: a bad setting must not leave a topic behind.
        let found = self.catalog().subscription(&path).map(|(_, subscription)| subscription.settings.clone());
        settings_of(found.as_ref().ok(), patch.clone())?;
        let topic_missing = self.catalog().topic(&path.topic).is_err_and(|error| error.code == Code::TopicNotFound);
        if topic_missing {
            self.create_or_change_topic(path.topic.clone(), TopicPatch::default()).await?;
        }
        let inner = self.clone();
        self.change(async move {
            let topic = inner.catalog().topic(&path.topic)?;
            let current = topic.subscriptions.get(&path.subscription).cloned();
            let settings = settings_of(current.as_ref().map(|current| &current.settings), patch)?;
            check_order(&topic, &settings)?;
            check_range(
                "max_in_flight",
                settings.max_in_flight,
                topic.settings.partitions.into(),
                limits::IN_FLIGHT_MAX,
            )?;
            let kind = current.as_ref().map_or(kind, |current| current.kind);
            inner.check_start(current.is_none(), &settings)?;
            check_stream(&topic, kind)?;
            let (dead_letters, new_topic) = inner.dead_letter_topic(&topic, &path, &settings)?;
            let created = current.is_none();
            let number = current.as_ref().map_or_else(|| inner.next_subscription(), |current| current.number);
            let subscription = Subscription {
                number,
                name: path.subscription.clone(),
                kind,
                settings,
                dead_letters: dead_letters.place(),
                dead_letter_name: dead_letters.name.clone(),
                paused: current.is_some_and(|current| current.paused),
            };
            let mut pieces = vec![inner.counters(), keep(&subscription_entry(&topic, &subscription))];
            if new_topic {
                pieces.push(keep(&topic_entry(&dead_letters)));
            }
            inner.keep(pieces).await?;
            if new_topic {
                inner.configure(&dead_letters).await?;
                inner.catalog_mut().put_topic(dead_letters);
            }
            inner.configure_subscription(&topic, &subscription).await?;
            inner.put_into_topic(&path.topic, subscription)?;
            inner.drop_unused_dead_letter_topics().await?;
            Ok(created)
        })
        .await
    }

    /// A subscription that is made cannot begin later than now: what is due before would have to be skipped.
    fn check_start(&self, made: bool, settings: &SubscriptionSettings) -> Result<(), Error> {
        match settings.start {
            Start::Time(time) if made && time > self.clock.now().floor => {
                let text = "cannot begin at a time that has not come: what is due before it would have to be skipped";
                Err(Error::new(Code::InvalidField, text)
                    .with_field("start")
                    .with_hint("`latest` begins with what comes due from now on"))
            }
            Start::Time(_) | Start::Earliest | Start::Latest => Ok(()),
        }
    }

    pub(super) fn put_into_topic(&self, path: &TopicPath, subscription: Subscription) -> Result<(), Error> {
        let topic = self.catalog().topic(path)?;
        let mut topic = topic.as_ref().clone();
        // A topic that is subscribed to is somebody's, whatever it was kept ready for.
        topic.subscriptions.insert(subscription.name.clone(), Arc::new(subscription));
        self.catalog_mut().put_topic(topic);
        Ok(())
    }

    /// The topic that takes a subscription's dead letters, and whether it is to be made. One that is
    /// made lies where the subscription's own topic lies, so that one batch writes to both; letters
    /// for one that lies elsewhere are sent there.
    fn dead_letter_topic(
        &self,
        topic: &Topic,
        path: &SubscriptionPath,
        settings: &SubscriptionSettings,
    ) -> Result<(Topic, bool), Error> {
        let refused = |text: String| Error::new(Code::InvalidName, text).with_field("dead_letter_topic");
        let name = match &settings.dead_letter_topic {
            Some(name) => {
                TopicName::parse(name).map_err(|error| refused(format!("dead-letter topic `{name}` {error}")))?
            }
            None => self.default_dead_letter_name(topic, path)?,
        };
        let home = TopicPath { namespace: path.topic.namespace.clone(), topic: name.clone() };
        if let Ok(there) = self.catalog().topic(&home) {
            if there.number != topic.number {
                return Ok((there.as_ref().clone(), false));
            }
            let text = format!("dead letters of topic `{name}` cannot go to the topic itself");
            return Err(Error::new(Code::InvalidField, text)
                .with_field("dead_letter_topic")
                .with_hint("name another topic: one that fails for ever would come back for ever"));
        }
        Ok((topic.beside(self.next_topic(), name), true))
    }

    /// The name of a subscription's dead-letter topic when it chose none. The plain name may be taken
    /// by letters of an earlier topic of this name, which lie where that one lay: then by a number.
    fn default_dead_letter_name(&self, topic: &Topic, path: &SubscriptionPath) -> Result<TopicName, Error> {
        let plain = format!("{}.{}.dead", path.topic.topic, path.subscription);
        let numbered = (2..=DEAD_LETTER_NAMES_MAX).map(|number| format!("{plain}.{number}"));
        let names = std::iter::once(plain.clone()).chain(numbered).filter_map(|name| TopicName::stored(&name));
        let fits = |name: &TopicName| {
            let home = TopicPath { namespace: path.topic.namespace.clone(), topic: name.clone() };
            self.catalog().topic(&home).map_or(true, |there| {
                there.root == topic.root && there.settings.partitions == topic.settings.partitions
            })
        };
        names.into_iter().find(fits).ok_or_else(|| {
            Error::new(
                Code::InvalidName,
                format!("dead-letter topic `{plain}` has too long a name, or is taken too often"),
            )
            .with_field("dead_letter_topic")
            .with_hint("name one with `dead_letter_topic`, or delete old ones")
        })
    }

    pub(super) async fn delete_subscription(self: &Arc<Self>, path: SubscriptionPath) -> Result<(), Error> {
        let inner = self.clone();
        self.change(async move {
            let (topic, subscription) = inner.catalog().subscription(&path)?;
            inner.keep(vec![forget(&subscription_entry(&topic, &subscription))]).await?;
            let mut rest = topic.as_ref().clone();
            rest.subscriptions.remove(&path.subscription);
            inner.catalog_mut().put_topic(rest);
            let number = subscription.number;
            inner.tell_partitions(&topic, |partition| Command::Unsubscribe { partition, subscription: number }).await?;
            inner.drop_unused_dead_letter_topics().await
        })
        .await
    }

    pub(super) async fn set_paused(self: &Arc<Self>, path: SubscriptionPath, paused: bool) -> Result<(), Error> {
        let inner = self.clone();
        self.change(async move {
            let (topic, subscription) = inner.catalog().subscription(&path)?;
            let subscription = Subscription { paused, ..subscription.as_ref().clone() };
            inner.keep(vec![keep(&subscription_entry(&topic, &subscription))]).await?;
            inner.configure_subscription(&topic, &subscription).await?;
            inner.put_into_topic(&path.topic, subscription)
        })
        .await
    }

    pub(super) async fn seek(self: &Arc<Self>, path: SubscriptionPath, to: SeekTo) -> Result<(), Error> {
        self.check_running()?;
        let (topic, subscription) = self.catalog().subscription(&path)?;
        if let SeekTo::Time(time) = to
            && time > self.clock.now().floor
        {
            let text = "cannot move to a time that has not come: what is due before it would have to be skipped";
            return Err(Error::new(Code::InvalidField, text)
                .with_field("to")
                .with_hint("`latest` skips what has come due"));
        }
        let (to, subscription) = (
            match to {
                SeekTo::Earliest => Some(Time::ZERO),
                SeekTo::Latest => None,
                SeekTo::Time(time) => Some(time),
            },
            subscription.number,
        );
        self.tell_partitions(&topic, |partition| Command::Seek { partition, subscription, to }).await
    }
}

/// Streams read one timeline a partition.
fn check_stream(topic: &Topic, kind: SubscriptionKind) -> Result<(), Error> {
    if kind == SubscriptionKind::Shared || topic.settings.priorities == 1 {
        return Ok(());
    }
    let text = format!("topic `{}` has {} priorities, and streams need one", topic.name, topic.settings.priorities);
    Err(Error::new(Code::SubscriptionKind, text).with_field("subscription"))
}

/// The settings after a change, checked. `current` is `None` for a new subscription.
fn settings_of(
    current: Option<&SubscriptionSettings>,
    patch: SubscriptionPatch,
) -> Result<SubscriptionSettings, Error> {
    let default = SubscriptionSettings::default();
    let base = current.cloned().unwrap_or_default();
    let dead_letter_topic = match patch.dead_letter_topic {
        Patch::Keep => base.dead_letter_topic,
        Patch::Reset => None,
        Patch::Set(name) => Some(name),
    };
    let retry = match patch.retry {
        Patch::Keep => base.retry,
        Patch::Reset => RetryPolicy::default(),
        Patch::Set(retry) => retry_of(base.retry, retry)?,
    };
    let settings = SubscriptionSettings {
        start: patch.start.apply(base.start, default.start),
        lease: patch.lease.apply(base.lease, default.lease),
        retry,
        dead_letter_topic,
        max_in_flight: patch.max_in_flight.apply(base.max_in_flight, default.max_in_flight),
        ordered: patch.ordered.apply(base.ordered, default.ordered),
        filter: patch.filter.apply_optional(base.filter),
        max_rate: patch.max_rate.apply_optional(base.max_rate),
        breaker: patch.breaker.apply_optional(base.breaker),
    };
    if current.is_some_and(|current| current.start != settings.start) {
        let text = "cannot change `start` of a subscription that exists: it is where it began";
        return Err(Error::new(Code::SettingFixed, text).with_field("start").with_hint("move it with seek"));
    }
    check_lease(settings.lease)?;
    check_range("max_in_flight", settings.max_in_flight, 1, limits::IN_FLIGHT_MAX)?;
    check_delivery(current, &settings)?;
    Ok(settings)
}

fn retry_of(base: RetryPolicy, patch: RetryPatch) -> Result<RetryPolicy, Error> {
    let default = RetryPolicy::default();
    let retry = RetryPolicy {
        max_attempts: patch.max_attempts.apply(base.max_attempts, default.max_attempts),
        initial: patch.initial.apply(base.initial, default.initial),
        multiplier: patch.multiplier.apply(base.multiplier, default.multiplier),
        max: patch.max.apply(base.max, default.max),
        jitter: patch.jitter.apply(base.jitter, default.jitter),
    };
    check_range("retry.max_attempts", retry.max_attempts, 1, limits::ATTEMPTS_MAX)?;
    check_range("retry.multiplier", retry.multiplier, 1.0, 1000.0)?;
    check_range("retry.jitter", retry.jitter, 0.0, 1.0)?;
    check_range("retry.max", retry.max, punctual_types::DelayMs::ZERO, limits::RETRY_DELAY_MAX)?;
    // A first delay over the longest would be cut down without a word.
    check_range("retry.initial", retry.initial, punctual_types::DelayMs::ZERO, retry.max)?;
    Ok(retry)
}
