//! A broker over a memory store with a clock moved by hand, and short words for what tests do.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

use std::sync::Arc;

use punctual_broker::{Broker, BrokerConfig, ClockConfig};
use punctual_broker_api::{
    AckOutcome, Broker as Api, DelayMs, Delivery, Error, Handle, Limits, MessageId, NackOutcome, NackRequest,
    NamespaceName, NewMessage, Published, Receipt, ReceiveRequest, SubscribeRequest, SubscriptionName,
    SubscriptionPath, Time, TopicName, TopicPath, When,
};
use punctual_store_api::Store;
use punctual_store_memory::MemoryStore;

/// 2030-01-01T00:00:00Z.
pub const START_MS: u64 = 1_893_456_000_000;

/// Runs a test on a runtime of its own.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test)
}

pub fn ms(ms: u64) -> DelayMs {
    DelayMs::from_ms(ms)
}

pub fn secs(secs: u64) -> DelayMs {
    DelayMs::from_secs(secs)
}

/// So many milliseconds after the clock's start.
pub fn at(after_start_ms: u64) -> Time {
    Time::from_unix_ms(START_MS + after_start_ms).expect("before the year 10000")
}

pub fn topic(name: &str) -> TopicPath {
    TopicPath { namespace: NamespaceName::default(), topic: TopicName::parse(name).expect("a name") }
}

pub fn sub(name: &str) -> SubscriptionPath {
    let (topic_name, subscription) = name.split_once('/').expect("topic/subscription");
    SubscriptionPath { topic: topic(topic_name), subscription: SubscriptionName::parse(subscription).expect("a name") }
}

pub fn message(body: &str) -> NewMessage {
    NewMessage { body: body.to_owned().into(), ..NewMessage::default() }
}

pub fn after(body: &str, delay: DelayMs) -> NewMessage {
    NewMessage { when: When::Delay(delay), ..message(body) }
}

pub fn receive(subscription: &str, max: u32) -> ReceiveRequest {
    ReceiveRequest { subscription: sub(subscription), max, max_bytes: 4 << 20, wait: DelayMs::ZERO, lease: None }
}

pub fn by_key(key: &str) -> Handle {
    Handle::Key { key: key.to_owned(), ordering_key: None }
}

pub fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().map(|it| String::from_utf8(it.body.to_vec()).expect("UTF-8")).collect()
}

/// A broker under test.
pub struct Rig {
    pub broker: Broker,
    pub store: Arc<MemoryStore>,
}

impl Rig {
    pub async fn new() -> Self {
        Self::over(Arc::new(MemoryStore::new(4, [7; 16]))).await
    }

    /// Over a store that was there before.
    pub async fn over(store: Arc<MemoryStore>) -> Self {
        let broker = open(store.clone()).await;
        Self { broker, store }
    }

    pub async fn publish(&self, name: &str, message: NewMessage) -> Published {
        self.try_publish(name, message).await.expect("accepted")
    }

    pub async fn try_publish(&self, name: &str, message: NewMessage) -> Result<Published, Error> {
        self.broker.publish(topic(name), vec![message]).await?.pop().expect("one answer")
    }

    pub async fn receive(&self, subscription: &str, max: u32) -> Vec<Delivery> {
        self.broker.receive(receive(subscription, max)).await.expect("received")
    }

    pub async fn receive_one(&self, subscription: &str) -> Delivery {
        let mut deliveries = self.receive(subscription, 1).await;
        assert_eq!(deliveries.len(), 1, "one message was expected at {subscription}");
        deliveries.pop().expect("one")
    }

    pub async fn ack(&self, subscription: &str, deliveries: &[Delivery]) -> Vec<AckOutcome> {
        let receipts: Vec<Receipt> = deliveries.iter().map(|it| it.receipt.clone()).collect();
        self.broker.ack(sub(subscription), receipts).await.expect("answered")
    }

    pub async fn nack(&self, subscription: &str, delivery: &Delivery, delay: Option<DelayMs>) -> NackOutcome {
        let request = NackRequest { receipts: vec![delivery.receipt.clone()], delay, error: Some("boom".to_owned()) };
        self.broker.nack(sub(subscription), request).await.expect("answered").pop().expect("one")
    }

    pub async fn advance(&self, by: DelayMs) {
        self.broker.advance_clock(by).await.expect("a manual clock");
    }

    /// The process dies and another opens what was durable.
    pub async fn crash(self) -> Self {
        let store = Arc::new(self.store.crash());
        drop(self);
        Self::over(store).await
    }

    pub fn id(&self, id: &MessageId) -> Handle {
        Handle::Id(id.clone())
    }

    pub async fn stats(&self, name: &str) -> punctual_broker_api::TopicStats {
        self.broker.get_topic(topic(name)).await.expect("a topic").stats
    }
}

pub async fn open(store: Arc<dyn Store>) -> Broker {
    let clock = ClockConfig::Manual { start: at(0) };
    let config = BrokerConfig { store, clock, workers: Some(2), limits: Limits::default(), seed: Some(1) };
    Broker::open(config).await.expect("an open broker")
}

pub fn subscribe(subscription: &str) -> SubscribeRequest {
    SubscribeRequest { subscription: sub(subscription), lease: None, max_in_flight: 0 }
}
