//! The state of the work itself.

use std::future::Future;

use punctual_broker_api::Delivery;

use super::Guarded;

/// Says whether the work of a message is still to be done. A closure is one.
pub trait StateCheck: Send + Sync {
    /// Why the state could not be read.
    type Error;

    /// Whether the work is still to be done.
    fn is_to_be_done(&self, delivery: &Delivery) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}

impl<C, F, E> StateCheck for C
where
    C: Fn(&Delivery) -> F + Send + Sync,
    F: Future<Output = Result<bool, E>> + Send,
{
    type Error = E;

    fn is_to_be_done(&self, delivery: &Delivery) -> impl Future<Output = Result<bool, E>> + Send {
        self(delivery)
    }
}

/// Has an effect only while it is still to be had.
///
/// The check and the effect are two steps, between which another consumer may take both. Make the
/// effect conditional on the same state to close the gap
/// (`UPDATE orders SET state = 'closed' WHERE id = $1 AND state = 'open'`).
///
/// ```
/// # use punctual_client::{Guarded, Idempotency, Leased, api::Delivery};
/// # async fn is_open(order: Vec<u8>) -> Result<bool, std::io::Error> { Ok(true) }
/// # async fn close(order: &[u8]) -> Result<(), std::io::Error> { Ok(()) }
/// async fn close_unless_paid(order: Leased) -> Result<(), std::io::Error> {
///     let guard = Idempotency::state_check(|order: &Delivery| is_open(order.body.to_vec()));
///     guard.once(&order, async || close(&order.body).await).await?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StateGuard<S> {
    check: S,
}

impl<S> StateGuard<S> {
    pub(super) fn new(check: S) -> Self {
        Self { check }
    }
}

impl<S: StateCheck> StateGuard<S> {
    /// Has the effect if it is still to be had.
    ///
    /// # Errors
    /// The check's, before which nothing was tried, or the effect's own.
    pub async fn once<T, E>(
        &self,
        delivery: &Delivery,
        effect: impl AsyncFnOnce() -> Result<T, E>,
    ) -> Result<Guarded<T>, E>
    where
        E: From<S::Error>,
    {
        if self.check.is_to_be_done(delivery).await? { effect().await.map(Guarded::Done) } else { Ok(Guarded::Skipped) }
    }
}
