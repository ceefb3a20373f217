//! The broker as its doors see it: requests checked, routed to their shards, answered.

mod admin;
mod clock;
mod cursor;
mod delivery_rules;
mod log;
mod look;
mod look_subscription;
mod making;
mod message;
mod metrics_page;
mod namespaces;
mod open;
mod prepared;
mod publish;
mod quota;
mod receive;
mod redrive;
mod resolve;
mod schedule_runner;
mod schedule_settings;
mod schedules;
mod settle;
mod subscriptions;
mod topics;
mod validate;

use std::sync::{
    Arc, RwLock,
    atomic::{AtomicBool, AtomicU64, AtomicUsize},
};

use punctual_broker_api as api;
use punctual_broker_api::{Error, Handle, Health, Limits, Reply, SubscriptionPath, TopicPath};
use punctual_store_api::{Store, StoreError};
use punctual_types::{DelayMs, NamespaceName};

pub use open::{BrokerConfig, OpenError};

use crate::{catalog::Catalog, clock::Clock, handle_text::HandleText, metrics::Metrics, random::Random, shard::Shards};

/// A broker over one data directory. Cheap to clone: clones are the same broker.
#[derive(Clone)]
pub struct Broker {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) shards: Arc<Shards>,
    pub(crate) clock: Clock,
    pub(crate) random: Arc<Random>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) handles: HandleText,
    pub(crate) hash: punctual_core::HandleHash,
    pub(crate) catalog: RwLock<Catalog>,
    /// Who publishes to topics that are being made.
    making: making::Making,
    /// Held while the catalog is changed.
    pub(crate) admin: tokio::sync::Mutex<()>,
    /// What namespaces with limits have under way.
    quotas: quota::Quotas,
    /// Whose turn it is among partitions, for messages without a handle and for receiving.
    pub(crate) turn: AtomicUsize,
    pub(crate) stopping: AtomicBool,
    /// Whether the disk was too full when it was last looked at, and when that was.
    pub(crate) disk_full: AtomicBool,
    pub(crate) disk_looked_at_ms: AtomicU64,
    /// Bytes that may have been written since.
    pub(crate) disk_written: AtomicU64,
    /// What runs recurring schedules.
    runner: schedule_runner::Runner,
}

impl Broker {
    /// Registers what is measured with a registry of metrics.
    pub fn register_metrics(&self, registry: &mut prometheus_client::registry::Registry) {
        self.inner.metrics.register(registry);
        registry.register_collector(Box::new(metrics_page::Counts::new(self.inner.clone())));
    }

    /// Ready when the store has failed: nothing is acknowledged any more and the process should
    /// end. Never ready while all is well.
    pub async fn failed(&self) -> StoreError {
        self.inner.shards.failed().await
    }

    /// Stops: takes nothing new, answers what is under way, makes everything durable. What is
    /// leased is ready again for whoever opens the directory next, attempts not raised.
    ///
    /// # Errors
    /// When the last sync fails.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.inner.stopping.store(true, std::sync::atomic::Ordering::Release);
        self.inner.shards.stop().await;
        match self.inner.shards.failure() {
            Some(error) => Err(error),
            None => self.inner.store.close(),
        }
    }
}

impl api::Broker for Broker {
    fn publish(
        &self,
        topic: TopicPath,
        messages: Vec<api::NewMessage>,
    ) -> Reply<'_, Vec<Result<api::Published, Error>>> {
        Box::pin(self.inner.publish(topic, messages))
    }

    fn receive(&self, request: api::ReceiveRequest) -> Reply<'_, Vec<api::Delivery>> {
        Box::pin(self.inner.receive(request))
    }

    fn subscribe(&self, request: api::SubscribeRequest) -> Reply<'_, Box<dyn api::Consumer>> {
        Box::pin(self.inner.subscribe(request))
    }

    fn ack(&self, subscription: SubscriptionPath, receipts: Vec<api::Receipt>) -> Reply<'_, Vec<api::AckOutcome>> {
        Box::pin(self.inner.ack(subscription, receipts))
    }

    fn nack(&self, subscription: SubscriptionPath, request: api::NackRequest) -> Reply<'_, Vec<api::NackOutcome>> {
        Box::pin(self.inner.nack(subscription, request))
    }

    fn release(
        &self,
        subscription: SubscriptionPath,
        receipts: Vec<api::Receipt>,
    ) -> Reply<'_, Vec<api::ReleaseOutcome>> {
        Box::pin(self.inner.release(subscription, receipts))
    }

    fn extend(
        &self,
        subscription: SubscriptionPath,
        receipts: Vec<api::Receipt>,
        lease: DelayMs,
    ) -> Reply<'_, Vec<api::ExtendOutcome>> {
        Box::pin(self.inner.extend(subscription, receipts, lease))
    }

    fn get(&self, topic: TopicPath, handle: Handle) -> Reply<'_, api::MessageView> {
        Box::pin(self.inner.get(topic, handle))
    }

    fn cancel(&self, topic: TopicPath, handle: Handle) -> Reply<'_, api::CancelOutcome> {
        Box::pin(self.inner.cancel(topic, handle))
    }

    fn reschedule(&self, topic: TopicPath, handle: Handle, when: api::When) -> Reply<'_, api::RescheduleOutcome> {
        Box::pin(self.inner.reschedule(topic, handle, when))
    }

    fn deliver_now(&self, topic: TopicPath, handle: Handle) -> Reply<'_, api::DeliverNowOutcome> {
        Box::pin(self.inner.deliver_now(topic, handle))
    }

    fn cancel_range(&self, topic: TopicPath, range: api::TimeRange) -> Reply<'_, u64> {
        Box::pin(self.inner.cancel_range(topic, range))
    }

    fn commit(&self, topic: TopicPath, id: api::MessageId) -> Reply<'_, api::PreparedOutcome> {
        Box::pin(self.inner.commit(topic, id))
    }

    fn rollback(&self, topic: TopicPath, id: api::MessageId) -> Reply<'_, api::PreparedOutcome> {
        Box::pin(self.inner.rollback(topic, id))
    }

    fn list(&self, request: api::ListRequest) -> Reply<'_, api::Page<api::MessageView>> {
        Box::pin(self.inner.list(request))
    }

    fn timeline(&self, request: api::TimelineRequest) -> Reply<'_, Vec<api::TimelineBucket>> {
        Box::pin(self.inner.timeline(request))
    }

    fn list_topics(&self, namespace: NamespaceName, page: api::PageRequest) -> Reply<'_, api::Page<api::TopicView>> {
        Box::pin(self.inner.list_topics(namespace, page))
    }

    fn get_topic(&self, topic: TopicPath) -> Reply<'_, api::TopicView> {
        Box::pin(self.inner.get_topic(topic))
    }

    fn put_topic(&self, topic: TopicPath, patch: api::TopicPatch) -> Reply<'_, api::Put<api::TopicView>> {
        Box::pin(self.inner.put_topic(topic, patch))
    }

    fn delete_topic(&self, topic: TopicPath) -> Reply<'_, ()> {
        Box::pin(self.inner.delete_topic(topic))
    }

    fn list_subscriptions(
        &self,
        topic: TopicPath,
        page: api::PageRequest,
    ) -> Reply<'_, api::Page<api::SubscriptionView>> {
        Box::pin(self.inner.list_subscriptions(topic, page))
    }

    fn get_subscription(&self, subscription: SubscriptionPath) -> Reply<'_, api::SubscriptionView> {
        Box::pin(self.inner.get_subscription(subscription))
    }

    fn put_subscription(
        &self,
        subscription: SubscriptionPath,
        patch: api::SubscriptionPatch,
    ) -> Reply<'_, api::Put<api::SubscriptionView>> {
        Box::pin(self.inner.put_subscription(subscription, patch))
    }

    fn delete_subscription(&self, subscription: SubscriptionPath) -> Reply<'_, ()> {
        Box::pin(self.inner.delete_subscription(subscription))
    }

    fn set_paused(&self, subscription: SubscriptionPath, paused: bool) -> Reply<'_, ()> {
        Box::pin(self.inner.set_paused(subscription, paused))
    }

    fn seek(&self, subscription: SubscriptionPath, to: api::SeekTo) -> Reply<'_, ()> {
        Box::pin(self.inner.seek(subscription, to))
    }

    fn list_subscription_messages(
        &self,
        request: api::SubscriptionListRequest,
    ) -> Reply<'_, api::Page<api::MessageView>> {
        Box::pin(self.inner.list_subscription_messages(request))
    }

    fn redrive(&self, subscription: SubscriptionPath, request: api::RedriveRequest) -> Reply<'_, u64> {
        Box::pin(self.inner.redrive(subscription, request))
    }

    fn list_namespaces(&self, page: api::PageRequest) -> Reply<'_, api::Page<api::NamespaceView>> {
        Box::pin(self.inner.list_namespaces(page))
    }

    fn get_namespace(&self, namespace: NamespaceName) -> Reply<'_, api::NamespaceView> {
        Box::pin(self.inner.get_namespace(namespace))
    }

    fn put_namespace(
        &self,
        namespace: NamespaceName,
        patch: api::NamespacePatch,
    ) -> Reply<'_, api::Put<api::NamespaceView>> {
        Box::pin(self.inner.put_namespace(namespace, patch))
    }

    fn delete_namespace(&self, namespace: NamespaceName) -> Reply<'_, ()> {
        Box::pin(self.inner.delete_namespace(namespace))
    }

    fn clock(&self) -> Reply<'_, api::ClockView> {
        Box::pin(std::future::ready(Ok(self.inner.clock.view())))
    }

    fn advance_clock(&self, by: DelayMs) -> Reply<'_, api::ClockView> {
        Box::pin(self.inner.advance_clock(by))
    }

    fn accept_clock(&self) -> Reply<'_, api::ClockView> {
        Box::pin(self.inner.accept_clock())
    }

    fn health(&self) -> Reply<'_, Health> {
        Box::pin(std::future::ready(Ok(self.inner.health())))
    }

    fn limits(&self) -> Limits {
        self.inner.limits
    }
}

impl api::Schedules for Broker {
    fn list_schedules(
        &self,
        namespace: NamespaceName,
        page: api::PageRequest,
    ) -> Reply<'_, api::Page<api::ScheduleView>> {
        Box::pin(self.inner.list_schedules(namespace, page))
    }

    fn get_schedule(&self, schedule: api::SchedulePath) -> Reply<'_, api::ScheduleView> {
        Box::pin(self.inner.get_schedule(schedule))
    }

    fn put_schedule(
        &self,
        schedule: api::SchedulePath,
        patch: api::SchedulePatch,
    ) -> Reply<'_, api::Put<api::ScheduleView>> {
        Box::pin(self.inner.put_schedule(schedule, patch))
    }

    fn delete_schedule(&self, schedule: api::SchedulePath) -> Reply<'_, ()> {
        Box::pin(self.inner.delete_schedule(schedule))
    }

    fn set_schedule_paused(&self, schedule: api::SchedulePath, paused: bool) -> Reply<'_, api::ScheduleView> {
        Box::pin(self.inner.set_schedule_paused(schedule, paused))
    }

    fn trigger_schedule(&self, schedule: api::SchedulePath) -> Reply<'_, api::ScheduleView> {
        Box::pin(self.inner.trigger_schedule(schedule))
    }
}
