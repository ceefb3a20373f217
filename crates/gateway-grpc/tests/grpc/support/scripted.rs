//! A broker that does what its test says and remembers what it was asked: for what the real one
//! does not do on demand (every error, a publish that takes its time) and to see exactly what the
//! door asks.

use std::sync::{Arc, Mutex};

use punctual_broker_api::*;
use tokio::sync::{Notify, Semaphore, mpsc};

/// The broker.
pub(crate) struct Scripted {
    asked: Arc<Mutex<Vec<String>>>,
    changed: Arc<Notify>,
    /// Publishes to topic `held` wait for a permit each.
    pub(crate) held: Semaphore,
    /// What a consumer is given, as far as its credit goes.
    deliveries: Mutex<Option<mpsc::Receiver<Vec<Delivery>>>>,
    give: mpsc::Sender<Vec<Delivery>>,
    limits: Limits,
}

impl Scripted {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_limits(Limits::default())
    }

    pub(crate) fn with_limits(limits: Limits) -> Arc<Self> {
        let (give, deliveries) = mpsc::channel(64);
        Arc::new(Self {
            asked: Arc::default(),
            changed: Arc::default(),
            held: Semaphore::new(0),
            deliveries: Mutex::new(Some(deliveries)),
            give,
            limits,
        })
    }

    /// Gives deliveries to the consumer, whatever its credit.
    pub(crate) async fn give(&self, deliveries: Vec<Delivery>) {
        self.give.send(deliveries).await.expect("a consumer");
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Waits until it was asked something.
    pub(crate) async fn until_asked(&self, what: &str) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.asked().iter().any(|asked| asked == what) {
                return;
            }
            changed.await;
        }
    }

    fn note(&self, what: String) {
        note(&self.asked, &self.changed, what);
    }

    fn refuse<T: Send + 'static>(&self) -> Reply<'_, T> {
        Box::pin(std::future::ready(Err(Error::new(Code::Internal, "not in the script"))))
    }
}

fn note(asked: &Mutex<Vec<String>>, changed: &Notify, what: String) {
    asked.lock().expect("no panic").push(what);
    changed.notify_waiters();
}

/// A delivery with a receipt and a body.
pub(crate) fn delivery(receipt: &str, body: Vec<u8>) -> Delivery {
    Delivery {
        id: MessageId::new("id"),
        receipt: Receipt::new(receipt),
        topic: "orders".into(),
        body: body.into(),
        key: None,
        ordering_key: None,
        tag: None,
        headers: Vec::new(),
        priority: 0,
        attempt: 1,
        published_at: Time::ZERO,
        deliver_at: Time::ZERO,
        delivered_at: Time::ZERO,
        lateness_ms: 0,
        waited_ms: 0,
        lease_expires_at: Time::ZERO,
        dead_letter: None,
    }
}

fn prepared(id: &MessageId) -> Reply<'static, PreparedOutcome> {
    let outcome = match id.as_str() {
        "committed" => PreparedOutcome::Committed { deliver_at: Time::from_unix_ms(7).expect("a time") },
        "rolled-back" => PreparedOutcome::RolledBack,
        _ => PreparedOutcome::NotFound,
    };
    Box::pin(std::future::ready(Ok(outcome)))
}

fn join(receipts: &[Receipt]) -> String {
    receipts.iter().map(Receipt::as_str).collect::<Vec<_>>().join("+")
}

struct ScriptedConsumer {
    asked: Arc<Mutex<Vec<String>>>,
    changed: Arc<Notify>,
    deliveries: mpsc::Receiver<Vec<Delivery>>,
    closed: bool,
}

impl ScriptedConsumer {
    fn note(&self, what: String) {
        note(&self.asked, &self.changed, what);
    }
}

impl Consumer for ScriptedConsumer {
    fn credit(&self, messages: u32) {
        self.note(format!("credit {messages}"));
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Vec<Delivery>>> {
        Box::pin(async {
            // An empty delivery in the script is the broker's end of the stream.
            self.deliveries.recv().await.filter(|deliveries| !deliveries.is_empty())
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.note("stop".to_owned()) })
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.closed = true;
            self.note("close".to_owned());
        })
    }
}

impl Drop for ScriptedConsumer {
    fn drop(&mut self) {
        if !self.closed {
            self.note("drop".to_owned());
        }
    }
}

impl Schedules for Scripted {
    fn list_schedules(&self, _: NamespaceName, _: PageRequest) -> Reply<'_, Page<ScheduleView>> {
        self.refuse()
    }

    fn get_schedule(&self, _: SchedulePath) -> Reply<'_, ScheduleView> {
        self.refuse()
    }

    fn put_schedule(&self, _: SchedulePath, _: SchedulePatch) -> Reply<'_, Put<ScheduleView>> {
        self.refuse()
    }

    fn delete_schedule(&self, _: SchedulePath) -> Reply<'_, ()> {
        self.refuse()
    }

    fn set_schedule_paused(&self, _: SchedulePath, _: bool) -> Reply<'_, ScheduleView> {
        self.refuse()
    }

    fn trigger_schedule(&self, _: SchedulePath) -> Reply<'_, ScheduleView> {
        self.refuse()
    }
}

impl Broker for Scripted {
    /// Answers every message with its body as its id. A topic named after a code is refused with it.
    fn publish(&self, topic: TopicPath, messages: Vec<NewMessage>) -> Reply<'_, Vec<Result<Published, Error>>> {
        let bodies: Vec<_> = messages.iter().map(|m| String::from_utf8_lossy(&m.body).trim_end().to_owned()).collect();
        self.note(format!("publish {} {}", topic.topic, bodies.join("+")));
        Box::pin(async move {
            if let Some(code) = Code::from_slug(topic.topic.as_str()) {
                let error = Error::new(code, "as the script says").with_field("field").with_hint("hint");
                return Err(error.with_retry_after_ms(1500));
            }
            if topic.topic.as_str() == "held" {
                self.held.acquire().await.expect("open").forget();
            }
            let publish = |id: String| {
                let id = MessageId::new(&id);
                Ok(Published { id, deliver_at: Time::ZERO, status: PublishStatus::Accepted })
            };
            Ok(bodies.into_iter().map(publish).collect())
        })
    }

    fn receive(&self, request: ReceiveRequest) -> Reply<'_, Vec<Delivery>> {
        self.note(format!("receive {}", request.max_bytes));
        Box::pin(std::future::pending())
    }

    fn subscribe(&self, request: SubscribeRequest) -> Reply<'_, Box<dyn Consumer>> {
        self.note(format!("subscribe {}", request.max_in_flight));
        let deliveries = self.deliveries.lock().expect("no panic").take().expect("one consumer a script");
        let (asked, changed) = (Arc::clone(&self.asked), Arc::clone(&self.changed));
        let consumer = ScriptedConsumer { asked, changed, deliveries, closed: false };
        Box::pin(std::future::ready(Ok(Box::new(consumer) as Box<dyn Consumer>)))
    }

    fn ack(&self, _: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<AckOutcome>> {
        self.note(format!("ack {}", join(&receipts)));
        Box::pin(async move { Ok(vec![AckOutcome::Acked; receipts.len()]) })
    }

    fn nack(&self, _: SubscriptionPath, request: NackRequest) -> Reply<'_, Vec<NackOutcome>> {
        self.note(format!("nack {}", join(&request.receipts)));
        Box::pin(async move { Ok(vec![NackOutcome::Retry; request.receipts.len()]) })
    }

    fn release(&self, _: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<ReleaseOutcome>> {
        self.note(format!("release {}", join(&receipts)));
        Box::pin(async move { Ok(vec![ReleaseOutcome::Released; receipts.len()]) })
    }

    fn extend(&self, _: SubscriptionPath, receipts: Vec<Receipt>, lease: DelayMs) -> Reply<'_, Vec<ExtendOutcome>> {
        self.note(format!("extend {} {lease}", join(&receipts)));
        let extended = ExtendOutcome::Extended { lease_expires_at: Time::MAX };
        Box::pin(async move { Ok(vec![extended; receipts.len()]) })
    }

    fn get(&self, _: TopicPath, _: Handle) -> Reply<'_, MessageView> {
        self.refuse()
    }

    fn cancel(&self, _: TopicPath, _: Handle) -> Reply<'_, CancelOutcome> {
        self.refuse()
    }

    fn reschedule(&self, _: TopicPath, _: Handle, _: When) -> Reply<'_, RescheduleOutcome> {
        self.refuse()
    }

    fn deliver_now(&self, _: TopicPath, _: Handle) -> Reply<'_, DeliverNowOutcome> {
        self.refuse()
    }

    fn cancel_range(&self, _: TopicPath, _: TimeRange) -> Reply<'_, u64> {
        self.refuse()
    }

    fn list(&self, _: ListRequest) -> Reply<'_, Page<MessageView>> {
        self.refuse()
    }

    fn timeline(&self, _: TimelineRequest) -> Reply<'_, Vec<TimelineBucket>> {
        self.refuse()
    }

    fn list_topics(&self, _: NamespaceName, _: PageRequest) -> Reply<'_, Page<TopicView>> {
        self.refuse()
    }

    fn get_topic(&self, _: TopicPath) -> Reply<'_, TopicView> {
        self.refuse()
    }

    fn put_topic(&self, _: TopicPath, _: TopicPatch) -> Reply<'_, Put<TopicView>> {
        self.refuse()
    }

    fn delete_topic(&self, _: TopicPath) -> Reply<'_, ()> {
        self.refuse()
    }

    fn list_subscriptions(&self, _: TopicPath, _: PageRequest) -> Reply<'_, Page<SubscriptionView>> {
        self.refuse()
    }

    fn get_subscription(&self, _: SubscriptionPath) -> Reply<'_, SubscriptionView> {
        self.refuse()
    }

    fn put_subscription(&self, _: SubscriptionPath, _: SubscriptionPatch) -> Reply<'_, Put<SubscriptionView>> {
        self.refuse()
    }

    fn delete_subscription(&self, _: SubscriptionPath) -> Reply<'_, ()> {
        self.refuse()
    }

    fn set_paused(&self, _: SubscriptionPath, _: bool) -> Reply<'_, ()> {
        self.refuse()
    }

    fn seek(&self, _: SubscriptionPath, _: SeekTo) -> Reply<'_, ()> {
        self.refuse()
    }

    /// What becomes of a prepared message is told by its id: `committed` is due at 7.
    fn commit(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        self.note(format!("commit {} {id}", topic.topic));
        prepared(&id)
    }

    fn rollback(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        self.note(format!("rollback {} {id}", topic.topic));
        prepared(&id)
    }

    /// One message, in the state that was asked for.
    fn list_subscription_messages(&self, request: SubscriptionListRequest) -> Reply<'_, Page<MessageView>> {
        let subscription = request.subscription.subscription.to_string();
        let SubscriptionListRequest { state, limit, cursor, with_body, .. } = request;
        self.note(format!("look {subscription} {} {limit} {cursor:?} {with_body}", state.as_str()));
        let progress = SubscriptionProgress {
            subscription,
            state: SubscriptionMessageState::Retrying,
            attempts: 2,
            lease_expires_at: None,
            retry_at: Some(Time::MAX),
        };
        let view = MessageView {
            id: MessageId::new("id"),
            state: MessageState::Ready,
            body: with_body.then(|| "body".into()),
            key: None,
            dedup_id: None,
            ordering_key: None,
            tag: None,
            headers: Vec::new(),
            priority: 0,
            expires_after: None,
            published_at: Time::ZERO,
            deliver_at: Time::ZERO,
            subscriptions: vec![progress],
            dead_letter: None,
        };
        Box::pin(std::future::ready(Ok(Page { items: vec![view], next_cursor: Some("next".to_owned()) })))
    }

    /// Answers as many as were named, or 77.
    fn redrive(&self, subscription: SubscriptionPath, request: RedriveRequest) -> Reply<'_, u64> {
        let RedriveRequest { max, ids, range } = request;
        self.note(format!("redrive {} {max:?} {ids:?} {:?} {:?}", subscription.subscription, range.from, range.to));
        let redriven = ids.map_or(77, |ids| ids.len() as u64);
        Box::pin(std::future::ready(Ok(redriven)))
    }

    fn list_namespaces(&self, _: PageRequest) -> Reply<'_, Page<NamespaceView>> {
        self.refuse()
    }

    fn get_namespace(&self, _: NamespaceName) -> Reply<'_, NamespaceView> {
        self.refuse()
    }

    fn put_namespace(&self, _: NamespaceName, _: NamespacePatch) -> Reply<'_, Put<NamespaceView>> {
        self.refuse()
    }

    fn delete_namespace(&self, _: NamespaceName) -> Reply<'_, ()> {
        self.refuse()
    }

    fn clock(&self) -> Reply<'_, ClockView> {
        self.refuse()
    }

    fn advance_clock(&self, _: DelayMs) -> Reply<'_, ClockView> {
        self.refuse()
    }

    fn accept_clock(&self) -> Reply<'_, ClockView> {
        self.refuse()
    }

    fn health(&self) -> Reply<'_, Health> {
        Box::pin(std::future::ready(Ok(Health::Ready)))
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}
