//! One shard of a store.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, ready};
use punctual_store_api::{Durable, ShardStore, StoreError};
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{store::Running, syncer::Waiting};

/// The door to one shard. Keeps the store running.
pub(crate) struct TideShard {
    pub(crate) running: Arc<Running>,
    pub(crate) number: ShardNumber,
}

impl ShardStore for TideShard {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>> {
        async move { self.running.shared.commit(self.number, &batch) }.boxed()
    }

    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>> {
        let shared = &self.running.shared;
        match shared.syncer.wait(commit, &shared.journal, &shared.latch) {
            Waiting::Over(answer) => ready(answer).boxed(),
            Waiting::Told(told) => {
                // Whoever waits keeps the other end alive; a store that is dropped meanwhile has
                // made its last sync and answered.
                async move {
                    told.await
                        .unwrap_or_else(|gone| Err(StoreError::failed("waiting for a sync of", "the journal", gone)))
                }
                .boxed()
            }
        }
    }

    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>> {
        async move { self.running.shared.read(self.number, &reads) }.boxed()
    }

    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.running.shared.show_state(self.number, show)
    }
}
