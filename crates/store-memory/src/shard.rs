//! One shard of a memory store.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use punctual_store_api::{Durable, ShardStore, StoreError};
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::store::Shared;

/// The door to one shard.
pub(crate) struct MemoryShard {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: ShardNumber,
}

impl ShardStore for MemoryShard {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>> {
        async move { Ok(self.shared.commit(self.number, batch)) }.boxed()
    }

    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>> {
        let waiting = self.shared.log().wait(commit);
        // Holding on to the store keeps the other end of the channel alive.
        let shared = self.shared.clone();
        async move {
            match waiting {
                None => Ok(Durable::attest(commit)),
                Some(told) => {
                    let told = told.await;
                    drop(shared);
                    told.unwrap_or_else(|gone| Err(StoreError::failed("waiting for", "memory", gone)))
                }
            }
        }
        .boxed()
    }

    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>> {
        async move {
            let images = self.shared.shard(self.number);
            Ok(reads.into_iter().map(|read| images.written.read(read)).collect())
        }
        .boxed()
    }

    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.shared.shard(self.number).written.show_state(show);
        Ok(())
    }
}
