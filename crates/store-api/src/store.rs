//! The traits.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{Durable, StoreError};

/// A store of one data directory, for all of its shards.
pub trait Store: Send + Sync + 'static {
    /// How many shards the directory was made with.
    fn shards(&self) -> u16;

    /// The secret of the directory: made at random with it and never changed. Message ids and
    /// receipts are authenticated with it and handles are hashed with it.
    fn secret(&self) -> [u8; 16];

    /// The store of one shard. A shard has one writer; asking twice gives the same store.
    ///
    /// # Errors
    /// When the shard's data cannot be opened.
    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError>;

    /// The latched failure, if there was one. After it nothing is answered as written or durable.
    fn failure(&self) -> Option<StoreError>;

    /// What the store uses and has left.
    fn usage(&self) -> StoreUsage;

    /// Whom to tell how long each sync took.
    fn observe_syncs(&self, observer: SyncObserver);

    /// Makes everything written durable and stops background work. Called once, at a clean stop.
    ///
    /// # Errors
    /// When the last sync fails.
    fn close(&self) -> Result<(), StoreError>;
}

/// Told how long a sync took and how many commits it covered.
pub type SyncObserver = Arc<dyn Fn(Duration, u64) + Send + Sync>;

/// What a store uses and has left, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// On the disk.
    pub disk_bytes: u64,
    /// Left on the file system that holds the directory; `u64::MAX` when there is none.
    pub free_bytes: u64,
    /// In write buffers and caches.
    pub memory_bytes: u64,
}

/// The store of one shard.
///
/// Futures that a local store returns are ready at once; a store on an object store awaits.
pub trait ShardStore: Send + Sync {
    /// Writes a batch, atomically. When the future is ready the batch is *written*: every later
    /// read sees it, and it survives the death of this process. [`Self::durable`] then tells when
    /// it survives the machine's.
    ///
    /// The caller awaits one commit before it begins the next, so numbers rise in call order.
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>>;

    /// Ready when the commit and all before it are durable. Asking is what causes a sync; commits
    /// that nobody asks for are synced within a second all the same. One sync answers everyone
    /// who waits, of all shards.
    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>>;

    /// Answers reads, in the order asked.
    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>>;

    /// Shows every piece of named state, in key order. Called once, before the first commit.
    /// Whatever is shown has been made durable first: a previous process may have written it
    /// without syncing.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError>;
}
