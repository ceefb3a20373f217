//! A key with an expiry, in a cache.

use std::{fmt, future::Future, time::Duration};

use punctual_broker_api::MessageId;

use super::Guarded;
use crate::{
    limits::{MARKER_CLAIM_DEFAULT, MARKER_KEPT_DEFAULT},
    random,
};

const DONE: &str = "done";

/// A cache with keys that expire. Over Redis, with `key` = a prefix of your own and the message's id:
///
/// | method | command |
/// |---|---|
/// | `set_if_absent` | `SET key value NX GET PX expiry` (Redis 7; before that, `SET … NX PX` and, when it answers nil, `GET`) |
/// | `set` | `SET key value PX expiry` |
/// | `remove` | `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`, as a script |
///
/// A cache that may evict keys under pressure guards no longer than it keeps them.
pub trait Marker: Send + Sync {
    /// Why the cache did not do as it was told.
    type Error: Send;

    /// Sets a key unless it is set, atomically; answers the value that it had, `None` when it was
    /// not set.
    fn set_if_absent(
        &self,
        id: &MessageId,
        value: &str,
        expiry: Duration,
    ) -> impl Future<Output = Result<Option<String>, Self::Error>> + Send;

    /// Sets a key, whatever it had.
    fn set(
        &self,
        id: &MessageId,
        value: &str,
        expiry: Duration,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Removes a key if it has this value, atomically.
    fn remove(&self, id: &MessageId, value: &str) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Why a guarded effect was not had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerError<M, E> {
    /// The cache did not answer: nothing was tried.
    Marker(M),
    /// Another consumer is at it: let the message be tried again later, and do not ack it, because
    /// the other one may yet fail.
    Busy,
    /// The effect failed; the claim was given up, so that the next attempt may begin at once.
    Effect(E),
    /// The effect was had and the note could not be made: the next delivery has it again.
    Unnoted(M),
}

impl<M: fmt::Display, E: fmt::Display> fmt::Display for MarkerError<M, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marker(error) => write!(f, "cannot claim the message: {error}"),
            Self::Busy => f.write_str("another consumer is handling the message"),
            Self::Effect(error) => error.fmt(f),
            Self::Unnoted(error) => write!(f, "handled the message and cannot note it: {error}"),
        }
    }
}

impl<M: fmt::Display + fmt::Debug, E: fmt::Display + fmt::Debug> std::error::Error for MarkerError<M, E> {}

/// Lets an effect be had once per message, as far as a cache can tell.
///
/// The message is claimed for a while, then the effect is had, then "done" is noted for longer. A
/// crash during the effect leaves the claim to expire, after which the next delivery tries again; a
/// crash between effect and note has the effect twice. (Noting first would lose it instead: a
/// message that nobody handled would look done.)
///
/// ```
/// use punctual_client::{Guarded, Idempotency, MemoryMarker, api::MessageId};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = Idempotency::marker(MemoryMarker::default());
/// let id = MessageId::new("message 1");
/// let mut mails = 0;
/// for _delivery in 0..2 {
///     guard.once(&id, async || { mails += 1; Ok::<_, std::io::Error>(()) }).await?;
/// }
/// assert_eq!(mails, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MarkerGuard<M> {
    markers: M,
    claim: Duration,
    kept: Duration,
}

impl<M> MarkerGuard<M> {
    pub(super) fn new(markers: M) -> Self {
        Self { markers, claim: MARKER_CLAIM_DEFAULT, kept: MARKER_KEPT_DEFAULT }
    }

    /// Claims for so long: longer than the effect ever takes. 5 minutes by default.
    #[must_use]
    pub fn claim(mut self, length: Duration) -> Self {
        self.claim = length;
        self
    }

    /// Keeps the note for so long: longer than deliveries of one message can be apart, which is the
    /// lease or the longest retry delay, whichever is more. A day by default.
    #[must_use]
    pub fn kept(mut self, length: Duration) -> Self {
        self.kept = length;
        self
    }
}

impl<M: Marker> MarkerGuard<M> {
    /// Has the effect, unless it was had for this message before.
    ///
    /// # Errors
    /// See [`MarkerError`]; return it from the handler, so that the message is tried again.
    pub async fn once<T, E>(
        &self,
        id: &MessageId,
        effect: impl AsyncFnOnce() -> Result<T, E>,
    ) -> Result<Guarded<T>, MarkerError<M::Error, E>> {
        // A value of its own, so that a claim which expired meanwhile is not taken from its next owner.
        let claim = format!("claimed {:016x}", random::bits());
        match self.markers.set_if_absent(id, &claim, self.claim).await.map_err(MarkerError::Marker)?.as_deref() {
            None => {}
            Some(DONE) => return Ok(Guarded::Skipped),
            Some(_) => return Err(MarkerError::Busy),
        }
        match effect().await {
            Ok(done) => {
                self.markers.set(id, DONE, self.kept).await.map_err(MarkerError::Unnoted)?;
                Ok(Guarded::Done(done))
            }
            Err(error) => {
                // When this fails the claim expires by itself.
                drop(self.markers.remove(id, &claim).await);
                Err(MarkerError::Effect(error))
            }
        }
    }
}
