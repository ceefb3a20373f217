//! The same history on this store and on the one in memory: every answer is the same.

use std::sync::Arc;

use crate::on_disk::OnSimulatedDisk;
use bytes::Bytes;
use punctual_store_api::{
    BoxFuture, Durable, ShardStore, Store, StoreError, StoreUsage, SyncObserver,
    testing::{Harness, wait},
};
use punctual_store_memory::MemoryStore;
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};

/// Two stores that are told the same. What this one answers is what the caller gets.
struct Both {
    tide: OnSimulatedDisk,
    memory: MemoryStore,
}

struct BothShards {
    tide: Arc<dyn ShardStore>,
    memory: Arc<dyn ShardStore>,
}

impl Harness for Both {
    fn create(shards: u16) -> Self {
        let tide = OnSimulatedDisk::create(shards);
        let memory = MemoryStore::new(shards, tide.store().secret());
        Self { tide, memory }
    }

    fn store(&self) -> &dyn Store {
        self
    }

    fn reopen(self) -> Self {
        Self { tide: self.tide.reopen(), ..self }
    }

    fn sync(&self) {
        self.tide.sync();
    }
}

impl Store for Both {
    fn shards(&self) -> u16 {
        self.memory.shards()
    }

    fn secret(&self) -> [u8; 16] {
        self.memory.secret()
    }

    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError> {
        Ok(Arc::new(BothShards { tide: self.tide.store().shard(shard)?, memory: self.memory.shard(shard)? }))
    }

    fn failure(&self) -> Option<StoreError> {
        self.tide.store().failure()
    }

    fn usage(&self) -> StoreUsage {
        self.tide.store().usage()
    }

    fn observe_syncs(&self, observer: SyncObserver) {
        self.tide.store().observe_syncs(observer);
    }

    fn close(&self) -> Result<(), StoreError> {
        self.tide.store().close()
    }
}

impl ShardStore for BothShards {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>> {
        wait(self.memory.commit(batch.clone())).expect("memory does not fail");
        self.tide.commit(batch)
    }

    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>> {
        self.tide.durable(commit)
    }

    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>> {
        let expected = wait(self.memory.read(reads.clone())).expect("memory does not fail");
        let answered = wait(self.tide.read(reads.clone())).expect("answered");
        for ((read, answered), expected) in reads.iter().zip(&answered).zip(&expected) {
            // One that has expired may be answered or not, and each store sweeps in its own time.
            let is_free = matches!(read, Read::Lookup(_)) && [answered, expected].contains(&&ReadReply::Entry(None));
            assert!(is_free || answered == expected, "{read:?}\ntide   {answered:?}\nmemory {expected:?}");
        }
        Box::pin(async move { Ok(answered) })
    }

    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        let mut expected = Vec::new();
        self.memory.load_state(&mut |key, value| expected.push((key, value))).expect("memory does not fail");
        let mut answered = Vec::new();
        self.tide.load_state(&mut |key, value| answered.push((key, value)))?;
        assert_eq!(answered, expected);
        answered.into_iter().for_each(|(key, value)| show(key, value));
        Ok(())
    }
}

#[test]
fn random_histories_have_the_same_answers_in_memory() {
    let test = "random_histories_have_the_same_answers_in_memory";
    punctual_store_api::testing::model::random_histories_agree::<Both>("punctual-tide", test, 100, 400);
}
