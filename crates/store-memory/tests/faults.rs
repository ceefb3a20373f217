//! The faulty wrapper: what a test may rely on when it lets a store fail.

use std::sync::Arc;

use punctual_store_api::{
    ShardStore, Store, StoreError,
    testing::{Faults, FaultyStore, Lasting, ready, wait},
};
use punctual_store_memory::MemoryStore;
use punctual_types::{Batch, CommitNumber, ShardNumber};

fn faulty() -> (Arc<FaultyStore>, Arc<dyn ShardStore>, Faults) {
    let (store, faults) = FaultyStore::new(Arc::new(MemoryStore::new(2, [0; 16])));
    let shard = store.shard(ShardNumber(0)).expect("a shard");
    (store, shard, faults)
}

fn commit(shard: &Arc<dyn ShardStore>) -> Result<CommitNumber, StoreError> {
    wait(shard.commit(Batch::default()))
}

#[test]
fn the_chosen_commit_fails_and_after_it_everything() {
    let (store, shard, faults) = faulty();
    faults.fail_commit(3, Lasting::ForEver);
    let first = commit(&shard).expect("the first is written");
    commit(&shard).expect("the second is written");
    commit(&shard).expect_err("the third fails");
    commit(&shard).expect_err("and so does the fourth");
    wait(shard.durable(first)).expect_err("nothing is durable any more");
    wait(shard.read(vec![])).expect_err("nothing is read any more");
    shard.load_state(&mut |_, _| ()).expect_err("no state is shown any more");
    wait(store.shard(ShardNumber(1)).expect("a shard").commit(Batch::default())).expect_err("on no shard");
    assert!(store.failure().expect("latched").to_string().contains("writing"));
    assert_eq!(faults.commits(), 3, "refused commits do not count");
}

#[test]
fn the_chosen_sync_fails_and_after_it_everything() {
    let (store, shard, faults) = faulty();
    faults.fail_durable(2, Lasting::ForEver);
    let first = commit(&shard).expect("written");
    assert_eq!(wait(shard.durable(first)).expect("the first sync works").commit(), first);
    let second = commit(&shard).expect("written");
    wait(shard.durable(second)).expect_err("the second fails");
    commit(&shard).expect_err("nothing is written any more");
    assert!(store.failure().expect("latched").to_string().contains("syncing"));
}

#[test]
fn a_fault_that_happens_once_is_forgotten() {
    let (store, shard, faults) = faulty();
    faults.fail_commit(1, Lasting::Once);
    commit(&shard).expect_err("this one fails");
    let written = commit(&shard).expect("the next is written");
    faults.fail_durable(1, Lasting::Once);
    wait(shard.durable(written)).expect_err("this one fails");
    assert_eq!(wait(shard.durable(written)).expect("the next works").commit(), written);
    assert!(store.failure().is_none());
}

#[test]
fn what_is_held_back_is_answered_when_it_is_released() {
    let (_, shard, faults) = faulty();
    faults.hold();
    let written = commit(&shard).expect("written");
    let mut durable = shard.durable(written);
    assert!(ready(&mut durable).is_none(), "held back");
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(shard.durable(written)));
        faults.release();
        waiting.join().expect("no panic")
    });
    assert_eq!(waiting.expect("durable").commit(), written);
    assert_eq!(wait(durable).expect("durable").commit(), written);
}

#[test]
fn a_sync_that_fails_after_it_was_held_fails_for_all_who_waited() {
    let (store, shard, faults) = faulty();
    faults.hold();
    faults.fail_durable(2, Lasting::ForEver);
    let written = commit(&shard).expect("written");
    let waiting = [shard.durable(written), shard.durable(written), shard.durable(written)];
    assert!(store.failure().is_none(), "not known yet");
    commit(&shard).expect("still written");
    faults.release();
    for durable in waiting {
        wait(durable).expect_err("failed with the sync");
    }
    assert!(store.failure().is_some());
}
