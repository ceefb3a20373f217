//! A worker at work: a stream of deliveries, made anew when it is lost, and the handlers that run.

use std::{sync::Arc, time::Duration};

use punctual_broker_api::{Consumer, Error, SubscribeRequest};
use tokio::task::JoinSet;

use super::{
    Backoff,
    job::{Job, may_pass},
    stop::Signal,
};
use crate::{clock::within, limits::BACKOFF_MAX, random};

pub(super) struct Run {
    pub(super) job: Arc<Job>,
    pub(super) request: SubscribeRequest,
    pub(super) concurrency: u32,
    pub(super) stop_wait: Duration,
    pub(super) stop: Signal,
    pub(super) handlers: JoinSet<()>,
}

impl Run {
    /// Runs until it is stopped, or refused for a reason that waiting does not mend.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        loop {
            let opened = tokio::select! {
                biased;
                () = self.stop.given() => { self.finish(None).await; return Ok(()) }
                opened = self.job.broker.subscribe(self.request.clone()) => opened,
            };
            let mut wait = Duration::ZERO;
            match opened {
                Ok(consumer) => {
                    if let Some(consumer) = self.serve(consumer, &mut backoff).await {
                        self.finish(Some(consumer)).await;
                        return Ok(());
                    }
                    tracing::warn!("the stream of deliveries ended: opening another");
                }
                Err(error) if !may_pass(&error) => {
                    self.finish(None).await;
                    return Err(error);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot open a stream of deliveries: trying again");
                    wait = Duration::from_millis(error.retry_after_ms.unwrap_or(0)).min(BACKOFF_MAX);
                }
            }
            let wait = backoff.next(random::bits()).max(wait);
            // Whether it slept or was stopped, the loop looks again.
            let (stop, clock) = (&mut self.stop, &self.job.clock);
            within(&**clock, wait, stop.given()).await;
        }
    }

    /// Handles what a stream delivers; answers with the consumer when the worker is stopped, and
    /// with nothing when the stream has ended.
    async fn serve(&mut self, mut consumer: Box<dyn Consumer>, backoff: &mut Backoff) -> Option<Box<dyn Consumer>> {
        self.job.connections.send_modify(|count| *count += 1);
        while self.handlers.try_join_next().is_some() {}
        // Handlers that run on over a lost stream keep their slots.
        let running = u32::try_from(self.handlers.len()).unwrap_or(u32::MAX);
        let free = self.concurrency.saturating_sub(running);
        if free > 0 {
            consumer.credit(free);
        }
        let opened_at = self.job.clock.elapsed();
        loop {
            tokio::select! {
                biased;
                () = self.stop.given() => return Some(consumer),
                Some(_) = self.handlers.join_next() => consumer.credit(1),
                deliveries = consumer.next() => {
                    let Some(deliveries) = deliveries else {
                        // A stream that held for a while is not one more failure in a row.
                        if self.job.clock.elapsed().saturating_sub(opened_at) > BACKOFF_MAX {
                            backoff.reset();
                        }
                        return None;
                    };
                    backoff.reset();
                    for delivery in deliveries {
                        self.handlers.spawn(Arc::clone(&self.job).process(delivery));
                    }
                }
            }
        }
    }

    /// Takes nothing more, lets what runs end within the deadline, and gives the rest back.
    async fn finish(&mut self, mut consumer: Option<Box<dyn Consumer>>) {
        let (job, handlers) = (Arc::clone(&self.job), &mut self.handlers);
        let ended = async {
            if let Some(consumer) = &mut consumer {
                consumer.stop().await;
            }
            while handlers.join_next().await.is_some() {}
        };
        if within(&*job.clock, self.stop_wait, ended).await.is_none() {
            tracing::warn!(running = self.handlers.len(), "handlers did not end in time: giving their messages back");
            self.handlers.abort_all();
        }
        if let Some(consumer) = consumer {
            consumer.close().await;
        }
    }
}
