//! The three guards, side by side.

use std::sync::Arc;

use super::{MarkerGuard, RowGuard, StateGuard};
use crate::{Clock, clock::SystemClock};

/// What became of an effect behind a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarded<T> {
    /// It was had now.
    Done(T),
    /// It had been had before, or is no longer needed: ack the message.
    Skipped,
}

/// Keeps an effect from being had twice.
///
/// Delivery is at least once: a consumer that dies after its work and before its ack is given the
/// message again, and so is one that was so slow that its lease ended. The message's id is the same
/// on every delivery and attempt, so that a consumer can tell. How well depends on where the note
/// "done" lies relative to the effect:
///
/// | guard | the note | what it can promise | what it cannot |
/// |---|---|---|---|
/// | [`Idempotency::unique_row`] | a row with the message's id, in the transaction of the effect | exactly one effect, over crashes at any moment and over consumers at the same time | anything about effects outside that database |
/// | [`Idempotency::marker`] | a key with an expiry, in a cache | no second effect at the same time (while the claim runs), and none after the note was made (while it is kept) | a crash *between* effect and note: the effect is had again. Nor anything when the cache loses its keys, or when the effect outlasts its claim |
/// | [`Idempotency::state_check`] | the state of the work itself | nothing to keep or expire; a repeated effect is noticed as far as the state shows it | two consumers at the same moment, which both see that it is still to be done, unless the effect itself is conditional on the state |
///
/// Effects outside any database (a mail, a call) have no note that is made together with them: hand
/// the message's id to the other side as its idempotency key, and guard by a marker.
///
/// A subscription of its own is a consumer of its own: when several subscriptions share a table
/// or a cache, put the subscription's name before the id.
#[derive(Clone, Copy, Debug)]
pub struct Idempotency;

impl Idempotency {
    /// Guards effects in a database by a unique row.
    pub fn unique_row<R>(rows: R) -> RowGuard<R> {
        RowGuard::new(rows)
    }

    /// Guards effects by a marker that expires.
    pub fn marker<M>(markers: M) -> MarkerGuard<M> {
        MarkerGuard::new(markers)
    }

    /// Guards effects by whether they are still to be had.
    pub fn state_check<S>(check: S) -> StateGuard<S> {
        StateGuard::new(check)
    }
}

/// The clock that a guard goes by when it is given none.
pub(super) fn system_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}
