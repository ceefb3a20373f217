//! The memory that peers can make this door hold: requests that are half sent, and replies that
//! nobody reads. Bounded for each connection, so that one peer takes its share and no more, and
//! over all of them.

use std::sync::Arc;

use punctual_broker_api::{Code, Error};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tonic::codegen::Bytes;

use crate::limits;

/// Bytes of one permit.
const PERMIT_BYTES: usize = 1 << 10;

/// Two bounded amounts of memory.
#[derive(Debug)]
struct Pools {
    requests: Arc<Semaphore>,
    replies: Arc<Semaphore>,
}

impl Pools {
    fn new(request_bytes: usize, reply_bytes: usize) -> Self {
        let pool = |bytes: usize| Arc::new(Semaphore::new(bytes / PERMIT_BYTES));
        Self { requests: pool(request_bytes), replies: pool(reply_bytes) }
    }
}

/// The memory of the door.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Pools>);

/// The memory of one connection, within the door's.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    door: Arc<Pools>,
    connection: Arc<Pools>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self::of(limits::REQUESTS_BYTES_MAX, limits::REPLIES_BYTES_MAX)
    }

    fn of(request_bytes: usize, reply_bytes: usize) -> Self {
        Self(Arc::new(Pools::new(request_bytes, reply_bytes)))
    }

    /// The share of a new connection.
    pub(crate) fn share(&self) -> Share {
        let connection =
            Pools::new(limits::REQUESTS_BYTES_PER_CONNECTION_MAX, limits::REPLIES_BYTES_PER_CONNECTION_MAX);
        Share { door: Arc::clone(&self.0), connection: Arc::new(connection) }
    }
}

impl Share {
    /// Holds nothing yet of a request.
    pub(crate) fn request(&self) -> HeldRequest {
        HeldRequest { share: self.clone(), held: Vec::new(), permits: 0 }
    }

    /// Counts the bytes of a reply until the connection has taken them. Waits while this
    /// connection has too many unread, which is its own doing, and for a while only for what
    /// others hold.
    pub(crate) async fn reply(&self, bytes: Bytes) -> Result<Bytes, Error> {
        // Short replies are bounded by the number of streams: to count them would only cost time.
        if bytes.len() < limits::COUNTED_REPLY_BYTES_MIN {
            return Ok(bytes);
        }
        let permits = permits(bytes.len(), limits::REPLIES_BYTES_PER_CONNECTION_MAX);
        let ours = Arc::clone(&self.connection.replies).acquire_many_owned(permits).await;
        let all = Arc::clone(&self.door.replies).acquire_many_owned(permits);
        match (ours, timeout(limits::REPLY_ROOM_WAIT, all).await) {
            (Ok(ours), Ok(Ok(all))) => Ok(Bytes::from_owner(Counted { bytes, _permits: [ours, all] })),
            _ => Err(overloaded("cannot hold more replies that are not read")),
        }
    }
}

fn overloaded(problem: &str) -> Error {
    Error::new(Code::Overloaded, problem).with_retry_after_ms(limits::RETRY_AFTER_MS)
}

/// Permits for so many bytes; what is larger than the pool takes all of it.
fn permits(bytes: usize, pool_bytes: usize) -> u32 {
    u32::try_from(bytes.min(pool_bytes).div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX)
}

/// Bytes of a reply and the room that they take.
struct Counted {
    bytes: Bytes,
    _permits: [OwnedSemaphorePermit; 2],
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What one request holds while it is being sent.
#[derive(Debug)]
pub(crate) struct HeldRequest {
    share: Share,
    held: Vec<OwnedSemaphorePermit>,
    permits: u32,
}

impl HeldRequest {
    /// Holds as many bytes as have arrived; refused when the connection or the door has no room.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), Error> {
        let wanted = permits(bytes, limits::REQUESTS_BYTES_PER_CONNECTION_MAX);
        if wanted < self.permits {
            *self = self.share.request();
        }
        let more = wanted - self.permits;
        if more == 0 {
            return Ok(());
        }
        let pools = [&self.share.connection.requests, &self.share.door.requests];
        for (at, pool) in pools.into_iter().enumerate() {
            let Ok(permit) = Arc::clone(pool).try_acquire_many_owned(more) else {
                return Err(overloaded("cannot hold more requests that are not yet sent whole"));
            };
            match self.held.get_mut(at) {
                Some(held) => held.merge(permit),
                None => self.held.push(permit),
            }
        }
        self.permits = wanted;
        Ok(())
    }
}
