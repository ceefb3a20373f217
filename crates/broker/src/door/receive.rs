//! Receiving: one call, or a stream with credit.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use punctual_broker_api::{
    BoxFuture, Consumer, DeadLetterHistory, DeadLetterReason, DelayMs, Delivery, Error, ReceiveRequest,
    SubscribeRequest,
};
use punctual_core::{Delivered, SubscriptionKind, format::DeadLetter};
use punctual_types::limits;

use super::{
    Inner,
    log::check_kind,
    validate::{check_lease, check_range},
};
use crate::{
    catalog::Topic,
    handle_text::HandleText,
    shard::{Batch, Feed},
};

impl Inner {
    pub(super) async fn receive(self: &Arc<Self>, request: ReceiveRequest) -> Result<Vec<Delivery>, Error> {
        self.check_running()?;
        check_range("max", request.max, 1, self.limits.receive_messages_max)?;
        check_range("max_bytes", request.max_bytes, 1, self.limits.receive_bytes_max)?;
        check_range("wait", request.wait, DelayMs::ZERO, self.limits.receive_wait_max)?;
        request.lease.map_or(Ok(()), check_lease)?;
        let (topic, subscription) = self.subscription_or_new(&request.subscription).await?;
        check_kind(&subscription, SubscriptionKind::Shared)?;
        if subscription.paused {
            return Ok(Vec::new());
        }
        let places = topic.places(&subscription, self.store.shards());
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut feed = Feed::once(self.shards.clone(), places, request.lease, request.max, request.max_bytes);
        let mut batch = feed.take_ready(turn).await?;
        if batch.is_none() && request.wait > DelayMs::ZERO {
            feed.wait().await?;
            // Waiting for a consumer's patience, not for a due time: real time, whatever the clock.
            let wait = tokio::time::timeout(Duration::from_millis(request.wait.ms()), feed.next());
            batch = wait.await.unwrap_or(None);
            if batch.is_none() {
                // What left in the moment the wait ended is taken along, not thrown back.
                feed.stop().await;
                batch = feed.try_next();
            }
        }
        let deliveries = batch.map(|batch| deliveries_of(&self.handles, &topic, batch)).unwrap_or_default();
        if !deliveries.is_empty() {
            feed.hand_out();
        }
        Ok(deliveries)
    }

    pub(super) async fn subscribe(self: &Arc<Self>, request: SubscribeRequest) -> Result<Box<dyn Consumer>, Error> {
        self.check_running()?;
        request.lease.map_or(Ok(()), check_lease)?;
        check_range("max_in_flight", request.max_in_flight, 0, limits::IN_FLIGHT_MAX)?;
        let (topic, subscription) = self.subscription_or_new(&request.subscription).await?;
        check_kind(&subscription, SubscriptionKind::Shared)?;
        let places = topic.places(&subscription, self.store.shards());
        // An even share for each partition, rounded down: together they stay within the bound, unless
        // it is smaller than their number, for each needs one.
        let share = (request.max_in_flight / u32::from(topic.settings.partitions)).max(1);
        let own_bound = (request.max_in_flight > 0).then_some(share);
        let feed = Feed::stream(self.shards.clone(), places, request.lease, own_bound);
        feed.wait().await?;
        Ok(Box::new(StreamConsumer { feed, topic, handles: self.handles }))
    }
}

/// A stream of deliveries.
struct StreamConsumer {
    feed: Feed,
    topic: Arc<Topic>,
    handles: HandleText,
}

impl Consumer for StreamConsumer {
    fn credit(&self, messages: u32) {
        self.feed.credit(messages);
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Vec<Delivery>>> {
        Box::pin(async {
            let batch = self.feed.next().await?;
            Some(deliveries_of(&self.handles, &self.topic, batch))
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.feed.stop().await;
            while let Some(batch) = self.feed.try_next() {
                self.feed.give_back(&batch).await;
            }
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(self.feed.release_all())
    }
}

fn deliveries_of(handles: &HandleText, topic: &Topic, batch: Batch) -> Vec<Delivery> {
    let name: Arc<str> = topic.name.as_str().into();
    let delivery = |delivered: Delivered| {
        let record = delivered.record;
        Delivery {
            id: handles.id(record.message),
            receipt: handles.receipt(&delivered.lease),
            topic: name.clone(),
            body: record.body,
            key: record.key,
            ordering_key: record.ordering_key,
            tag: record.tag,
            headers: record.headers,
            priority: record.message.priority,
            attempt: delivered.attempt.0,
            published_at: record.published_at,
            deliver_at: record.deliver_at,
            delivered_at: batch.delivered_at,
            lateness_ms: delivered.offered_at.since(delivered.due).ms(),
            waited_ms: batch.delivered_at.since(delivered.offered_at).ms(),
            lease_expires_at: delivered.expires_at,
            dead_letter: record.dead_letter.map(|dead| Box::new(history_of(dead))),
        }
    };
    batch.deliveries.into_iter().map(delivery).collect()
}

/// What a dead letter went through, as doors tell it.
pub(super) fn history_of(dead: DeadLetter) -> DeadLetterHistory {
    DeadLetterHistory {
        reason: if dead.reason == DeadLetter::EXPIRED {
            DeadLetterReason::Expired
        } else {
            DeadLetterReason::AttemptsExhausted
        },
        topic: dead.topic,
        subscription: dead.subscription,
        attempts: dead.attempts,
        first_delivered_at: dead.first_delivered_at,
        last_error: dead.last_error,
    }
}
