//! Keeps the lease of one message while its handler runs.

use std::time::Duration;

use punctual_broker_api::{DelayMs, ExtendOutcome, Receipt};
use tokio::sync::watch;

use super::job::Job;
use crate::clock::within;

/// What part of a lease passes before it is extended: two more tries fit into the rest.
const EXTENSIONS_PER_LEASE: u32 = 3;

pub(super) struct LeaseKeeper<'a> {
    job: &'a Job,
    receipt: &'a Receipt,
    length: Duration,
    /// When the lease has certainly ended, by the worker's own clock.
    ends_at: Duration,
    connections: watch::Receiver<u64>,
}

impl<'a> LeaseKeeper<'a> {
    /// Keeps a lease that began a moment ago.
    pub(super) fn new(job: &'a Job, receipt: &'a Receipt, lease: DelayMs) -> Self {
        let length = Duration::from_millis(lease.ms());
        let ends_at = job.clock.elapsed() + length;
        Self { job, receipt, length, ends_at, connections: job.connections.subscribe() }
    }

    /// When the lease has certainly ended, by the worker's own clock.
    pub(super) fn ends_at(&self) -> Duration {
        self.ends_at
    }

    /// Extends the lease at every third of it; ends when it is lost. Also asks as soon as a lost
    /// connection is made anew: the broker may have taken the message back with it.
    pub(super) async fn keep(&mut self) {
        let pause = self.length / EXTENSIONS_PER_LEASE;
        loop {
            tokio::select! {
                biased;
                // The worker holds the other end for as long as this runs.
                _ = self.connections.changed() => {}
                () = self.job.clock.sleep(pause) => {}
            }
            // An attempt that hangs leaves room for the next.
            if !self.extend(pause / 2).await {
                return;
            }
        }
    }

    /// Whether the lease is still held after an attempt to extend it.
    async fn extend(&mut self, wait: Duration) -> bool {
        let asked_at = self.job.clock.elapsed();
        let lease = DelayMs::from_ms(u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX));
        let request = self.job.broker.extend(self.job.subscription.clone(), vec![self.receipt.clone()], lease);
        match within(&*self.job.clock, wait, request).await {
            Some(Ok(outcomes)) => match outcomes.first() {
                Some(ExtendOutcome::Extended { .. }) => {
                    // Counted from before the question, so that ours ends first.
                    self.ends_at = asked_at + self.length;
                    true
                }
                Some(ExtendOutcome::LeaseLost | ExtendOutcome::Invalid) | None => false,
            },
            Some(Err(error)) => {
                tracing::warn!(%error, "cannot extend a lease");
                self.is_running()
            }
            None => self.is_running(),
        }
    }

    fn is_running(&self) -> bool {
        self.job.clock.elapsed() < self.ends_at
    }
}
