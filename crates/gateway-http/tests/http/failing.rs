//! A broker that fails, or answers by a script, for what no real one does on demand.

use bytes::Bytes;
use punctual_broker_api::*;

/// Answers `unreachable` to nearly everything, and panics when asked about a topic. What became of
/// a prepared message it tells by the message's id.
pub(crate) struct Failing;

fn unreachable<T>() -> Reply<'static, T>
where
    T: Send + 'static,
{
    let error = Error::new(Code::Unreachable, "cannot connect to 192.0.2.1:7801").with_retry_after_ms(1500);
    Box::pin(std::future::ready(Err(error)))
}

fn prepared(id: &MessageId) -> Reply<'static, PreparedOutcome> {
    let outcome = match id.as_str() {
        "committed" => PreparedOutcome::Committed { deliver_at: Time::ZERO },
        "rolled-back" => PreparedOutcome::RolledBack,
        _ => PreparedOutcome::NotFound,
    };
    Box::pin(std::future::ready(Ok(outcome)))
}

/// A message that lies in every state at once for a subscription.
fn view(subscription: &SubscriptionName, body: Option<Bytes>) -> MessageView {
    use SubscriptionMessageState::{Dead, Leased, Ready, Retrying, Settled};
    let progress = |state| SubscriptionProgress {
        subscription: subscription.to_string(),
        state,
        attempts: 2,
        lease_expires_at: (state == Leased).then_some(Time::ZERO),
        retry_at: (state == Retrying).then_some(Time::MAX),
    };
    let history = DeadLetterHistory {
        reason: DeadLetterReason::Expired,
        topic: "t".to_owned(),
        subscription: subscription.to_string(),
        attempts: 0,
        first_delivered_at: None,
        last_error: None,
    };
    MessageView {
        id: MessageId::new("id"),
        state: MessageState::Prepared,
        body,
        key: None,
        dedup_id: None,
        ordering_key: None,
        tag: None,
        headers: Vec::new(),
        priority: 0,
        expires_after: None,
        published_at: Time::ZERO,
        deliver_at: Time::ZERO,
        subscriptions: [Ready, Leased, Retrying, Dead, Settled].map(progress).to_vec(),
        dead_letter: Some(Box::new(history)),
    }
}

macro_rules! unreachable_calls {
    ($($name:ident($($type:ty),*) -> $reply:ty;)*) => {
        $(fn $name(&self, $(_: $type),*) -> Reply<'_, $reply> {
            unreachable()
        })*
    };
}

impl Schedules for Failing {
    unreachable_calls! {
        list_schedules(NamespaceName, PageRequest) -> Page<ScheduleView>;
        get_schedule(SchedulePath) -> ScheduleView;
        put_schedule(SchedulePath, SchedulePatch) -> Put<ScheduleView>;
        delete_schedule(SchedulePath) -> ();
        set_schedule_paused(SchedulePath, bool) -> ScheduleView;
        trigger_schedule(SchedulePath) -> ScheduleView;
    }
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

    fn commit(&self, _: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        prepared(&id)
    }

    fn rollback(&self, _: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        prepared(&id)
    }

    /// One message of every state that a subscription can list, whichever was asked for; the body
    /// tells the request.
    fn list_subscription_messages(&self, request: SubscriptionListRequest) -> Reply<'_, Page<MessageView>> {
        let asked = format!("{} {} {:?}", request.state.as_str(), request.limit, request.cursor);
        let view = view(&request.subscription.subscription, request.with_body.then(|| asked.into()));
        Box::pin(std::future::ready(Ok(Page { items: vec![view], next_cursor: Some("next".to_owned()) })))
    }

    /// Answers as many as were named, else `max`, else 77.
    fn redrive(&self, _: SubscriptionPath, request: RedriveRequest) -> Reply<'_, u64> {
        let named = request.ids.map(|ids| ids.len() as u64);
        let since = request.range.from.map(Time::unix_ms);
        Box::pin(std::future::ready(Ok(named.or(since).or(request.max).unwrap_or(77))))
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
