//! A broker that fails, for what no real one does on demand.

use punctual_broker_api::{
    AckOutcome, Broker, CancelOutcome, ClockView, Code, Consumer, DelayMs, DeliverNowOutcome, Delivery, Error,
    ExtendOutcome, Handle, Health, Limits, ListRequest, MessageView, NackOutcome, NackRequest, NamespaceName,
    NamespacePatch, NamespaceView, NewMessage, Page, PageRequest, Published, Put, Receipt, ReceiveRequest,
    ReleaseOutcome, Reply, RescheduleOutcome, SeekTo, SubscribeRequest, SubscriptionPatch, SubscriptionPath,
    SubscriptionView, TimeRange, TimelineBucket, TimelineRequest, TopicPatch, TopicPath, TopicView, When,
};

/// Answers `unreachable` to everything, and panics when asked about a topic.
pub(crate) struct Failing;

fn unreachable<T>() -> Reply<'static, T>
where
    T: Send + 'static,
{
    let error = Error::new(Code::Unreachable, "cannot connect to 192.0.2.1:7801").with_retry_after_ms(1500);
    Box::pin(std::future::ready(Err(error)))
}

macro_rules! unreachable_calls {
    ($($name:ident($($type:ty),*) -> $reply:ty;)*) => {
        $(fn $name(&self, $(_: $type),*) -> Reply<'_, $reply> {
            unreachable()
        })*
    };
}

impl Broker for Failing {
    unreachable_calls! {
        publish(TopicPath, Vec<NewMessage>) -> Vec<Result<Published, Error>>;
        receive(ReceiveRequest) -> Vec<Delivery>;
        subscribe(SubscribeRequest) -> Box<dyn Consumer>;
        ack(SubscriptionPath, Vec<Receipt>) -> Vec<AckOutcome>;
        nack(SubscriptionPath, NackRequest) -> Vec<NackOutcome>;
        release(SubscriptionPath, Vec<Receipt>) -> Vec<ReleaseOutcome>;
        extend(SubscriptionPath, Vec<Receipt>, DelayMs) -> Vec<ExtendOutcome>;
        get(TopicPath, Handle) -> MessageView;
        cancel(TopicPath, Handle) -> CancelOutcome;
        reschedule(TopicPath, Handle, When) -> RescheduleOutcome;
        deliver_now(TopicPath, Handle) -> DeliverNowOutcome;
        cancel_range(TopicPath, TimeRange) -> u64;
        list(ListRequest) -> Page<MessageView>;
        timeline(TimelineRequest) -> Vec<TimelineBucket>;
        list_topics(NamespaceName, PageRequest) -> Page<TopicView>;
        put_topic(TopicPath, TopicPatch) -> Put<TopicView>;
        delete_topic(TopicPath) -> ();
        list_subscriptions(TopicPath, PageRequest) -> Page<SubscriptionView>;
        get_subscription(SubscriptionPath) -> SubscriptionView;
        put_subscription(SubscriptionPath, SubscriptionPatch) -> Put<SubscriptionView>;
        delete_subscription(SubscriptionPath) -> ();
        set_paused(SubscriptionPath, bool) -> ();
        seek(SubscriptionPath, SeekTo) -> ();
        list_namespaces(PageRequest) -> Page<NamespaceView>;
        get_namespace(NamespaceName) -> NamespaceView;
        put_namespace(NamespaceName, NamespacePatch) -> Put<NamespaceView>;
        delete_namespace(NamespaceName) -> ();
        clock() -> ClockView;
        advance_clock(DelayMs) -> ClockView;
        accept_clock() -> ClockView;
    }

    fn get_topic(&self, topic: TopicPath) -> Reply<'_, TopicView> {
        panic!("asked about {}", topic.topic)
    }

    fn health(&self) -> Reply<'_, Health> {
        Box::pin(std::future::ready(Ok(Health::Failed("the journal could not be synced".to_owned()))))
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }
}
