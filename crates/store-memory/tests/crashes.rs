//! Manual mode: the test decides what a crash leaves.

use bytes::Bytes;
use punctual_store_api::{
    Store,
    testing::{ready, wait},
};
use punctual_store_memory::MemoryStore;
use punctual_types::{Batch, ShardNumber, Write};

fn set(key: &'static str) -> Batch {
    let write = Write::SetState { key: Bytes::from(key), value: Some(Bytes::new()) };
    Batch { writes: vec![write], ..Batch::default() }
}

fn keys(store: &MemoryStore) -> Vec<Bytes> {
    let mut keys = Vec::new();
    for shard in 0..store.shards() {
        let shard = store.shard(ShardNumber(shard)).expect("a shard");
        shard.load_state(&mut |key, _| keys.push(key)).expect("shown");
    }
    keys
}

#[test]
fn a_crash_keeps_what_was_synced_and_as_many_more_as_asked() {
    let store = MemoryStore::manual_sync(2, [7; 16]);
    let shards = [ShardNumber(0), ShardNumber(1)].map(|shard| store.shard(shard).expect("a shard"));
    for (number, key) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let commit = wait(shards[number % 2].commit(set(key))).expect("written");
        let mut durable = shards[number % 2].durable(commit);
        assert!(ready(&mut durable).is_none(), "nothing is durable before a sync");
        if key == "b" {
            store.sync();
            assert_eq!(wait(durable).expect("durable").commit(), commit);
        }
    }
    assert_eq!(keys(&store), ["a", "c", "e", "b", "d"]);
    assert_eq!(keys(&store.crash()), ["a", "b"]);
    assert_eq!(keys(&store.crash_keeping(2)), ["a", "c", "b", "d"]);
    assert_eq!(keys(&store.crash_keeping(9)), ["a", "c", "e", "b", "d"]);
    assert_eq!((store.crash().shards(), store.crash().secret()), (2, [7; 16]));

    let crashed = store.crash();
    store.sync();
    assert_eq!(keys(&store.crash()), ["a", "c", "e", "b", "d"]);
    assert_eq!(keys(&crashed), ["a", "b"], "a crashed copy is a store of its own");
}
