//! Receiving: a single call, or a stream with credit.

use punctual_types::DelayMs;

use crate::{BoxFuture, Delivery, SubscriptionPath};

/// One receive call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// From which subscription; it is made with its topic when it does not exist.
    pub subscription: SubscriptionPath,
    /// At most so many messages: 1 to 1000 by default.
    pub max: u32,
    /// Stop at so many bytes of bodies; one message is always answered.
    pub max_bytes: u64,
    /// Wait so long for the first message, up to 60 s by default; never for the rest.
    pub wait: DelayMs,
    /// The lease, instead of the subscription's own.
    pub lease: Option<DelayMs>,
}

/// A stream of deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribeRequest {
    /// From which subscription; it is made with its topic when it does not exist.
    pub subscription: SubscriptionPath,
    /// The lease, instead of the subscription's own.
    pub lease: Option<DelayMs>,
    /// At most so many messages unacknowledged on this stream, whatever its credit; 0 for no
    /// bound but the subscription's.
    pub max_in_flight: u32,
}

/// A consumer on a subscription. It is given nothing before it has credit.
///
/// Dropping a consumer is what an abruptly lost connection does: what it holds goes back with the
/// attempt raised. [`Consumer::close`] is the graceful end.
pub trait Consumer: Send {
    /// Allows so many more messages to be delivered.
    fn credit(&self, messages: u32);

    /// The next deliveries, as many as are there; `None` when the broker ends the stream (it
    /// stops, or the subscription was deleted). May be dropped and asked again without losing any.
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<Delivery>>>;

    /// Ends the stream: no further delivery leaves, and messages that were never handed out by
    /// [`Consumer::next`] go back. What was handed out may still be acked, until
    /// [`Consumer::close`].
    fn stop(&mut self) -> BoxFuture<'_, ()>;

    /// Ends the stream and releases what is leased and not yet acked, attempts not raised.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()>;
}
