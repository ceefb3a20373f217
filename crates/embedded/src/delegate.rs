//! The opened broker is a broker: every call goes through.

use punctual_broker_api::{
    AckOutcome, Broker as Api, CancelOutcome, ClockView, Consumer, DelayMs, DeliverNowOutcome, Delivery, Error,
    ExtendOutcome, Handle, Health, Limits, ListRequest, Log, LogOffsets, LogPartition, LogReadRequest, LogRecord,
    MessageId, MessageView, NackOutcome, NackRequest, NamespaceName, NamespacePatch, NamespaceView, NewMessage, Page,
    PageRequest, PreparedOutcome, Published, Put, Receipt, ReceiveRequest, RedriveRequest, ReleaseOutcome, Reply,
    RescheduleOutcome, SeekTo, SubscribeRequest, SubscriptionListRequest, SubscriptionPatch, SubscriptionPath,
    SubscriptionView, Time, TimeRange, TimelineBucket, TimelineRequest, TopicPatch, TopicPath, TopicView, When,
};

use crate::Broker;

impl Api for Broker {
    fn publish(&self, topic: TopicPath, messages: Vec<NewMessage>) -> Reply<'_, Vec<Result<Published, Error>>> {
        self.inner().publish(topic, messages)
    }

    fn receive(&self, request: ReceiveRequest) -> Reply<'_, Vec<Delivery>> {
        self.inner().receive(request)
    }

    fn subscribe(&self, request: SubscribeRequest) -> Reply<'_, Box<dyn Consumer>> {
        self.inner().subscribe(request)
    }

    fn ack(&self, subscription: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<AckOutcome>> {
        self.inner().ack(subscription, receipts)
    }

    fn nack(&self, subscription: SubscriptionPath, request: NackRequest) -> Reply<'_, Vec<NackOutcome>> {
        self.inner().nack(subscription, request)
    }

    fn release(&self, subscription: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<ReleaseOutcome>> {
        self.inner().release(subscription, receipts)
    }

    fn extend(
        &self,
        subscription: SubscriptionPath,
        receipts: Vec<Receipt>,
        lease: DelayMs,
    ) -> Reply<'_, Vec<ExtendOutcome>> {
        self.inner().extend(subscription, receipts, lease)
    }

    fn get(&self, topic: TopicPath, handle: Handle) -> Reply<'_, MessageView> {
        self.inner().get(topic, handle)
    }

    fn cancel(&self, topic: TopicPath, handle: Handle) -> Reply<'_, CancelOutcome> {
        self.inner().cancel(topic, handle)
    }

    fn reschedule(&self, topic: TopicPath, handle: Handle, when: When) -> Reply<'_, RescheduleOutcome> {
        self.inner().reschedule(topic, handle, when)
    }

    fn deliver_now(&self, topic: TopicPath, handle: Handle) -> Reply<'_, DeliverNowOutcome> {
        self.inner().deliver_now(topic, handle)
    }

    fn cancel_range(&self, topic: TopicPath, range: TimeRange) -> Reply<'_, u64> {
        self.inner().cancel_range(topic, range)
    }

    fn commit(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        self.inner().commit(topic, id)
    }

    fn rollback(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        self.inner().rollback(topic, id)
    }

    fn list(&self, request: ListRequest) -> Reply<'_, Page<MessageView>> {
        self.inner().list(request)
    }

    fn timeline(&self, request: TimelineRequest) -> Reply<'_, Vec<TimelineBucket>> {
        self.inner().timeline(request)
    }

    fn list_topics(&self, namespace: NamespaceName, page: PageRequest) -> Reply<'_, Page<TopicView>> {
        self.inner().list_topics(namespace, page)
    }

    fn get_topic(&self, topic: TopicPath) -> Reply<'_, TopicView> {
        self.inner().get_topic(topic)
    }

    fn put_topic(&self, topic: TopicPath, patch: TopicPatch) -> Reply<'_, Put<TopicView>> {
        self.inner().put_topic(topic, patch)
    }

    fn delete_topic(&self, topic: TopicPath) -> Reply<'_, ()> {
        self.inner().delete_topic(topic)
    }

    fn list_subscriptions(&self, topic: TopicPath, page: PageRequest) -> Reply<'_, Page<SubscriptionView>> {
        self.inner().list_subscriptions(topic, page)
    }

    fn get_subscription(&self, subscription: SubscriptionPath) -> Reply<'_, SubscriptionView> {
        self.inner().get_subscription(subscription)
    }

    fn put_subscription(
        &self,
        subscription: SubscriptionPath,
        patch: SubscriptionPatch,
    ) -> Reply<'_, Put<SubscriptionView>> {
        self.inner().put_subscription(subscription, patch)
    }

    fn delete_subscription(&self, subscription: SubscriptionPath) -> Reply<'_, ()> {
        self.inner().delete_subscription(subscription)
    }

    fn set_paused(&self, subscription: SubscriptionPath, paused: bool) -> Reply<'_, ()> {
        self.inner().set_paused(subscription, paused)
    }

    fn seek(&self, subscription: SubscriptionPath, to: SeekTo) -> Reply<'_, ()> {
        self.inner().seek(subscription, to)
    }

    fn list_subscription_messages(&self, request: SubscriptionListRequest) -> Reply<'_, Page<MessageView>> {
        self.inner().list_subscription_messages(request)
    }

    fn redrive(&self, subscription: SubscriptionPath, request: RedriveRequest) -> Reply<'_, u64> {
        self.inner().redrive(subscription, request)
    }

    fn list_namespaces(&self, page: PageRequest) -> Reply<'_, Page<NamespaceView>> {
        self.inner().list_namespaces(page)
    }

    fn get_namespace(&self, namespace: NamespaceName) -> Reply<'_, NamespaceView> {
        self.inner().get_namespace(namespace)
    }

    fn put_namespace(&self, namespace: NamespaceName, patch: NamespacePatch) -> Reply<'_, Put<NamespaceView>> {
        self.inner().put_namespace(namespace, patch)
    }

    fn delete_namespace(&self, namespace: NamespaceName) -> Reply<'_, ()> {
        self.inner().delete_namespace(namespace)
    }

    fn clock(&self) -> Reply<'_, ClockView> {
        self.inner().clock()
    }

    fn advance_clock(&self, by: DelayMs) -> Reply<'_, ClockView> {
        self.inner().advance_clock(by)
    }

    fn accept_clock(&self) -> Reply<'_, ClockView> {
        self.inner().accept_clock()
    }

    fn health(&self) -> Reply<'_, Health> {
        self.inner().health()
    }

    fn limits(&self) -> Limits {
        self.inner().limits()
    }
}

impl Log for Broker {
    fn partitions(&self, topic: TopicPath) -> Reply<'_, u16> {
        self.inner().partitions(topic)
    }

    fn offsets(&self, partition: LogPartition) -> Reply<'_, LogOffsets> {
        self.inner().offsets(partition)
    }

    fn read(&self, request: LogReadRequest) -> Reply<'_, Vec<LogRecord>> {
        self.inner().read(request)
    }

    fn offset_at(&self, partition: LogPartition, time: Time) -> Reply<'_, u64> {
        self.inner().offset_at(partition, time)
    }

    fn commit_offset(&self, subscription: SubscriptionPath, partition: u16, offset: u64) -> Reply<'_, ()> {
        self.inner().commit_offset(subscription, partition, offset)
    }

    fn committed_offset(&self, subscription: SubscriptionPath, partition: u16) -> Reply<'_, Option<u64>> {
        self.inner().committed_offset(subscription, partition)
    }
}
