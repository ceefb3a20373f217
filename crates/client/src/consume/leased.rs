//! A message as a handler gets it, and whether it is still the handler's.

use std::ops::Deref;

use punctual_broker_api::Delivery;
use tokio::sync::watch;

use crate::trace::TraceContext;

/// A message that was leased for a handler: reads like its [`Delivery`].
#[derive(Clone, Debug)]
pub struct Leased {
    delivery: Delivery,
    lease: Lease,
    trace: Option<TraceContext>,
}

impl Leased {
    pub(crate) fn new(delivery: Delivery, lease: Lease, trace: Option<TraceContext>) -> Self {
        Self { delivery, lease, trace }
    }

    /// Whether the message is still this handler's.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The trace that the message carries, continued by the span of this handler: what to send
    /// along with whatever the handler calls.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// The delivery itself.
    #[must_use]
    pub fn into_delivery(self) -> Delivery {
        self.delivery
    }
}

impl Deref for Leased {
    type Target = Delivery;

    fn deref(&self) -> &Delivery {
        &self.delivery
    }
}

/// A handler's hold on its message. The worker extends it for as long as the handler runs; when
/// that fails for good (the broker gave the message to somebody else, or could not be reached until
/// the lease had ended) the handler is told here, and whatever it answers afterwards is not sent.
#[derive(Clone, Debug)]
pub struct Lease {
    lost: watch::Receiver<bool>,
}

impl Lease {
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (tell, lost) = watch::channel(false);
        (tell, Self { lost })
    }

    /// Whether the message is no longer this handler's: look here before an effect that must not
    /// be had twice.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        // Whoever would tell is gone when the worker gave the message back.
        *self.lost.borrow() || self.lost.has_changed().is_err()
    }

    /// Ends when the message is no longer this handler's: select on it to break off.
    pub async fn lost(&self) {
        // An error says that the worker is gone, and the lease with it.
        let _ = self.lost.clone().wait_for(|lost| *lost).await;
    }
}
