//! What is done with one message: handler, lease, answer.

use std::{any::Any, sync::Arc};

use punctual_broker_api::{AckOutcome, BoxFuture, Broker, Delivery, Error, Kind, NackOutcome, SubscriptionPath};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};
use tracing::{Instrument, Span};

use super::{
    Backoff,
    failure::Failure,
    keeper::LeaseKeeper,
    leased::{Lease, Leased},
};
use crate::{
    clock::Clock,
    metrics::{ClientMetrics, Outcome, Tags},
    random,
    trace::{self, TraceContext},
};

/// The user's handler, its types erased.
pub(super) type Handler = Arc<dyn Fn(Leased) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// What all messages of a worker share.
pub(super) struct Job {
    pub(super) broker: Arc<dyn Broker>,
    pub(super) subscription: SubscriptionPath,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) handler: Handler,
    pub(super) metrics: ClientMetrics,
    pub(super) tags: Tags,
    /// Counts the streams that were opened.
    pub(super) connections: watch::Sender<u64>,
}

impl Job {
    /// Handles a message and answers for it.
    pub(super) async fn process(self: Arc<Self>, delivery: Delivery) {
        self.metrics.received(&self.tags, self.clock.wall().since(delivery.deliver_at));
        let carried = trace::extract(&delivery.headers);
        let own = carried.as_ref().map(TraceContext::child);
        let span = self.span(&delivery, carried.as_ref(), own.as_ref());
        let begun_at = self.clock.elapsed();
        let outcome = self.handle(delivery, own).instrument(span.clone()).await;
        span.record("outcome", outcome.as_str());
        self.metrics.processed(&self.tags, outcome, self.clock.elapsed().saturating_sub(begun_at));
    }

    fn span(&self, delivery: &Delivery, carried: Option<&TraceContext>, own: Option<&TraceContext>) -> Span {
        let span = tracing::info_span!(
            "handle",
            topic = %self.subscription.topic.topic,
            subscription = %self.subscription.subscription,
            message_id = %delivery.id,
            attempt = delivery.attempt,
            trace_id = tracing::field::Empty,
            span_id = tracing::field::Empty,
            parent_id = tracing::field::Empty,
            outcome = tracing::field::Empty,
        );
        trace::record(&span, own, carried);
        span
    }

    async fn handle(&self, delivery: Delivery, own: Option<TraceContext>) -> Outcome {
        let receipt = delivery.receipt.clone();
        let mut keeper = LeaseKeeper::new(self, &receipt, delivery.lease_expires_at.since(delivery.delivered_at));
        let (tell_lost, lease) = Lease::new();
        // A task of its own, so that a handler that blocks its thread does not keep the lease from
        // being extended; in a set, so that it ends with this one.
        let mut running = JoinSet::new();
        let work = (self.handler)(Leased::new(delivery, lease, own.clone()));
        running.spawn(trace::within(own, work).instrument(Span::current()));
        let ended = tokio::select! {
            biased;
            ended = running.join_next() => ended,
            () = keeper.keep() => {
                tracing::warn!("the lease was lost while the message was being handled");
                tell_lost.send_replace(true);
                // The slot is taken until the handler has heard of it and ended.
                running.join_next().await;
                return Outcome::LeaseLost;
            }
        };
        let result = match ended {
            Some(Ok(result)) => result,
            Some(Err(error)) => Err(panicked(error)),
            None => Err(Failure::new("the handler did not run")),
        };
        if let Err(failure) = &result {
            tracing::warn!(error = failure.text(), "the handler failed");
        }
        self.answer(&keeper, &receipt, &result).await
    }

    /// Acks or nacks, again and again until the broker has answered or the lease has ended: both
    /// answer the same when they are asked a second time.
    async fn answer(
        &self,
        keeper: &LeaseKeeper<'_>,
        receipt: &punctual_broker_api::Receipt,
        result: &Result<(), Failure>,
    ) -> Outcome {
        let mut backoff = Backoff::default();
        loop {
            let path = self.subscription.clone();
            let answer = match result {
                Ok(()) => self.broker.ack(path, vec![receipt.clone()]).await.map(|outcomes| of_ack(&outcomes)),
                Err(failure) => {
                    self.broker.nack(path, failure.nack(receipt.clone())).await.map(|outcomes| of_nack(&outcomes))
                }
            };
            match answer {
                Ok(outcome) => return outcome,
                Err(error) if !may_pass(&error) || self.clock.elapsed() >= keeper.ends_at() => {
                    tracing::warn!(%error, "cannot settle a message: it will be delivered again");
                    return Outcome::Unsettled;
                }
                Err(_) => self.clock.sleep(backoff.next(random::bits())).await,
            }
        }
    }
}

fn of_ack(outcomes: &[AckOutcome]) -> Outcome {
    match outcomes.first() {
        Some(AckOutcome::Acked) => Outcome::Acked,
        Some(AckOutcome::LeaseLost | AckOutcome::Invalid) | None => Outcome::LeaseLost,
    }
}

fn of_nack(outcomes: &[NackOutcome]) -> Outcome {
    match outcomes.first() {
        Some(NackOutcome::Retry) => Outcome::Retried,
        Some(NackOutcome::DeadLettered) => Outcome::DeadLettered,
        Some(NackOutcome::LeaseLost | NackOutcome::Invalid) | None => Outcome::LeaseLost,
    }
}

/// Whether asking again later may help, without anybody mending anything in the caller.
pub(super) fn may_pass(error: &Error) -> bool {
    match error.kind() {
        Kind::Overloaded | Kind::Unavailable | Kind::UnknownOutcome | Kind::Internal => true,
        Kind::Invalid | Kind::Unauthenticated | Kind::Forbidden | Kind::NotFound | Kind::Conflict | Kind::TooLarge => {
            false
        }
    }
}

fn panicked(error: JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(panic) => Failure::new(format!("the handler panicked: {}", said(&*panic))),
        Err(error) => Failure::new(format!("the handler did not end: {error}")),
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}
