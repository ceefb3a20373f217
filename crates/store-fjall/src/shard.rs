//! One shard of a fjall store.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, ready};
use punctual_store_api::{Durable, ShardStore, StoreError};
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

use crate::{
    read::{Answer, Reader},
    store::Running,
    syncer::Waiting,
};

/// The door to one shard. Keeps the store running.
pub(crate) struct FjallShard {
    pub(crate) running: Arc<Running>,
    pub(crate) number: ShardNumber,
}

impl ShardStore for FjallShard {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>> {
        async move { self.running.shared.commit(self.number, batch) }.boxed()
    }

    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>> {
        let shared = &self.running.shared;
        match shared.syncs.wait(commit, &shared.latch) {
            Waiting::Over(answer) => ready(answer).boxed(),
            Waiting::Told(told) => {
                let directory = shared.directory.shown();
                async move {
                    told.await.unwrap_or_else(|gone| Err(StoreError::failed("waiting for a sync of", directory, gone)))
                }
                .boxed()
            }
        }
    }

    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>> {
        async move {
            let shared = &self.running.shared;
            shared.check()?;
            let answers = {
                let reader = Reader::new(shared, self.number);
                reads.into_iter().map(|read| reader.answer(read)).collect::<Result<Vec<_>, _>>()?
            };
            let mut replies = Vec::with_capacity(answers.len());
            for answer in answers {
                replies.push(match answer {
                    Answer::Reply(reply) => reply,
                    Answer::Count(counting) => ReadReply::Counts(shared.count(counting).await?),
                });
            }
            Ok(replies)
        }
        .boxed()
    }

    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.running.shared.show_state(self.number, show)
    }
}
