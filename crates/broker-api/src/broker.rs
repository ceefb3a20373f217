//! Everything that may be asked of a broker.

use punctual_types::{DelayMs, NamespaceName};

use crate::{
    AckOutcome, BoxFuture, CancelOutcome, ClockView, Consumer, DeliverNowOutcome, Delivery, Error, ExtendOutcome,
    Handle, Health, Limits, ListRequest, MessageId, MessageView, NackOutcome, NackRequest, NamespacePatch,
    NamespaceView, NewMessage, Page, PageRequest, PreparedOutcome, Published, Put, Receipt, ReceiveRequest,
    RedriveRequest, ReleaseOutcome, RescheduleOutcome, Schedules, SeekTo, SubscribeRequest, SubscriptionListRequest,
    SubscriptionPatch, SubscriptionPath, SubscriptionView, TimeRange, TimelineBucket, TimelineRequest, TopicPatch,
    TopicPath, TopicView, When,
};

/// What a call answers, later.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// A broker: embedded in this process, or reached over a connection.
///
/// Every call may answer kinds `unauthenticated`, `unavailable`, `overloaded`, `unknown_outcome`
/// and `internal`; the codes worth handling beside those are named at each call. An answer that
/// says that something was done leaves only when it is as durable as the topic asks.
pub trait Broker: Schedules {
    /// Publishes a batch: one answer per message, in order, each done or refused by itself.
    ///
    /// # Errors
    /// The call fails as a whole, with nothing accepted, on `topic_not_found` and
    /// `namespace_not_found`, `batch_too_large`, `disk_full`, `overloaded`.
    fn publish(&self, topic: TopicPath, messages: Vec<NewMessage>) -> Reply<'_, Vec<Result<Published, Error>>>;

    /// Leases messages that are due: waits for the first, never for the rest; empty when the wait
    /// is over or the subscription is paused.
    fn receive(&self, request: ReceiveRequest) -> Reply<'_, Vec<Delivery>>;

    /// Opens a stream of deliveries.
    fn subscribe(&self, request: SubscribeRequest) -> Reply<'_, Box<dyn Consumer>>;

    /// Acks: one outcome per receipt, in order. Never makes a topic or a subscription.
    fn ack(&self, subscription: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<AckOutcome>>;

    /// Nacks: each is tried again later, or dead-lettered when it had its last attempt.
    fn nack(&self, subscription: SubscriptionPath, request: NackRequest) -> Reply<'_, Vec<NackOutcome>>;

    /// Gives messages back to their places, attempts not raised.
    fn release(&self, subscription: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<ReleaseOutcome>>;

    /// Lets leases end `lease` from now.
    fn extend(
        &self,
        subscription: SubscriptionPath,
        receipts: Vec<Receipt>,
        lease: DelayMs,
    ) -> Reply<'_, Vec<ExtendOutcome>>;

    /// Looks at one message; `message_not_found` when unknown or reclaimed.
    fn get(&self, topic: TopicPath, handle: Handle) -> Reply<'_, MessageView>;

    /// Cancels a scheduled message.
    fn cancel(&self, topic: TopicPath, handle: Handle) -> Reply<'_, CancelOutcome>;

    /// Moves a scheduled message to another time.
    fn reschedule(&self, topic: TopicPath, handle: Handle, when: When) -> Reply<'_, RescheduleOutcome>;

    /// Makes a scheduled message due now.
    fn deliver_now(&self, topic: TopicPath, handle: Handle) -> Reply<'_, DeliverNowOutcome>;

    /// Cancels every message that is scheduled in the range at the time of the call; answers how
    /// many. Goes in bounded pieces, so that others are served meanwhile.
    fn cancel_range(&self, topic: TopicPath, range: TimeRange) -> Reply<'_, u64>;

    /// Lets a prepared message be delivered at its time, now when that has passed. Durable when
    /// answered, and answered the same for 24 hours.
    fn commit(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome>;

    /// Takes a prepared message back: it is never delivered. Durable when answered, and answered
    /// the same for 24 hours.
    fn rollback(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome>;

    /// Lists scheduled messages in due order; `invalid_cursor` for another query's cursor.
    fn list(&self, request: ListRequest) -> Reply<'_, Page<MessageView>>;

    /// Counts scheduled messages by time, empty buckets left out.
    fn timeline(&self, request: TimelineRequest) -> Reply<'_, Vec<TimelineBucket>>;

    /// Lists topics by name.
    fn list_topics(&self, namespace: NamespaceName, page: PageRequest) -> Reply<'_, Page<TopicView>>;

    /// Reads a topic.
    fn get_topic(&self, topic: TopicPath) -> Reply<'_, TopicView>;

    /// Makes or changes a topic; `setting_fixed` for a change of `partitions`.
    fn put_topic(&self, topic: TopicPath, patch: TopicPatch) -> Reply<'_, Put<TopicView>>;

    /// Deletes a topic with all it holds, its subscriptions included.
    fn delete_topic(&self, topic: TopicPath) -> Reply<'_, ()>;

    /// Lists a topic's subscriptions by name.
    fn list_subscriptions(&self, topic: TopicPath, page: PageRequest) -> Reply<'_, Page<SubscriptionView>>;

    /// Reads a subscription.
    fn get_subscription(&self, subscription: SubscriptionPath) -> Reply<'_, SubscriptionView>;

    /// Makes or changes a subscription; makes its topic when that does not exist.
    fn put_subscription(
        &self,
        subscription: SubscriptionPath,
        patch: SubscriptionPatch,
    ) -> Reply<'_, Put<SubscriptionView>>;

    /// Deletes a subscription: what only it still wanted is reclaimed.
    fn delete_subscription(&self, subscription: SubscriptionPath) -> Reply<'_, ()>;

    /// Stops or starts offering messages to a subscription's consumers.
    fn set_paused(&self, subscription: SubscriptionPath, paused: bool) -> Reply<'_, ()>;

    /// Moves a subscription. What it skips counts as acked; what it goes back to is offered again
    /// as far as it was not reclaimed. Leases are lost.
    fn seek(&self, subscription: SubscriptionPath, to: SeekTo) -> Reply<'_, ()>;

    /// Looks at messages of a subscription without leasing them; the `subscriptions` of each view
    /// hold this one's progress. `subscription_not_found`, `invalid_cursor`.
    fn list_subscription_messages(&self, request: SubscriptionListRequest) -> Reply<'_, Page<MessageView>>;

    /// Gives dead letters back to their subscription alone, due now, attempts from 1, ids kept;
    /// answers how many. Whoever read the dead-letter topic makes no difference. Goes in bounded
    /// pieces, so that others are served meanwhile. `subscription_not_found`.
    fn redrive(&self, subscription: SubscriptionPath, request: RedriveRequest) -> Reply<'_, u64>;

    /// Lists namespaces by name.
    fn list_namespaces(&self, page: PageRequest) -> Reply<'_, Page<NamespaceView>>;

    /// Reads a namespace.
    fn get_namespace(&self, namespace: NamespaceName) -> Reply<'_, NamespaceView>;

    /// Makes or changes a namespace.
    fn put_namespace(&self, namespace: NamespaceName, patch: NamespacePatch) -> Reply<'_, Put<NamespaceView>>;

    /// Deletes a namespace with everything in it; `namespace_in_use` for `default`.
    fn delete_namespace(&self, namespace: NamespaceName) -> Reply<'_, ()>;

    /// Reads the clock.
    fn clock(&self) -> Reply<'_, ClockView>;

    /// Moves a manual clock ahead; answers when everything that became due by then has been
    /// offered to whoever waits. `clock_mode` when the clock is not manual.
    fn advance_clock(&self, by: DelayMs) -> Reply<'_, ClockView>;

    /// Takes the wall clock's time for the broker's, forward only, and ends a hold.
    fn accept_clock(&self) -> Reply<'_, ClockView>;

    /// Whether requests make sense at the moment.
    fn health(&self) -> Reply<'_, Health>;

    /// The limits in force, for doors that must refuse before they read.
    fn limits(&self) -> Limits;
}
