//! Answers, crashes and failures.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use punctual_broker_api::{AckOutcome, Broker as _, Code, Health, Kind, NewMessage, PublishStatus, SubscriptionPatch};
use punctual_store_api::{
    BoxFuture, Durable, ShardStore, Store, StoreError, StoreUsage, SyncObserver,
    testing::{Faults, FaultyStore, Lasting},
};
use punctual_store_memory::MemoryStore;
use punctual_types::{Batch, CommitNumber, Read, ReadReply, ShardNumber};
use support::*;

fn with_dedup(body: &str, dedup_id: &str) -> NewMessage {
    NewMessage { dedup_id: Some(dedup_id.to_owned()), ..after(body, secs(60)) }
}

/// A broker over a store that can be told to fail or to hold its syncs.
async fn faulty() -> (Rig, Faults) {
    let memory = Arc::new(MemoryStore::new(4, [7; 16]));
    let (store, faults) = FaultyStore::new(memory.clone());
    let broker = open(store).await;
    (Rig { broker, store: memory }, faults)
}

/// Whether the call is still waiting after everything that could happen has happened.
async fn is_waiting<T>(call: &tokio::task::JoinHandle<T>) -> bool {
    for _ in 0..50 {
        tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await.expect_err("never ready");
    }
    !call.is_finished()
}

#[test]
fn what_was_answered_is_there_after_a_crash() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", after("x", secs(60))).await;
        let rig = rig.crash().await;
        rig.advance(secs(60)).await;
        let got = rig.receive_one("t/s").await;
        assert_eq!((&got.id, bodies(std::slice::from_ref(&got))), (&published.id, vec!["x".to_owned()]));
        rig.ack("t/s", &[got]).await;
        let rig = rig.crash().await;
        assert!(rig.receive("t/s", 1).await.is_empty(), "an acked message came back");
        assert_eq!(rig.stats("t").await.acked_total, 1);
    });
}

#[test]
fn what_was_leased_at_a_crash_is_ready_again_and_old_receipts_are_void() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("x")).await;
        let before = rig.receive_one("t/s").await;
        let rig = rig.crash().await;
        let after = rig.receive_one("t/s").await;
        assert_eq!((after.attempt, &after.id), (1, &before.id));
        assert_eq!(rig.ack("t/s", &[before]).await, [AckOutcome::LeaseLost]);
        assert_eq!(rig.ack("t/s", &[after]).await, [AckOutcome::Acked]);
    });
}

#[test]
fn time_goes_on_where_it_was_after_a_crash() {
    run(async {
        let rig = Rig::new().await;
        rig.advance(secs(100)).await;
        rig.publish("t", after("x", secs(60))).await;
        let rig = rig.crash().await;
        assert_eq!(rig.broker.clock().await.expect("a clock").now, at(100_000));
    });
}

#[test]
fn a_duplicate_is_not_answered_before_the_first_is_safe_and_a_crash_forgets_both() {
    run(async {
        let (rig, faults) = faulty().await;
        rig.publish("t", message("warm up")).await;
        faults.hold();
        let publish = |rig: &Rig| {
            let broker = rig.broker.clone();
            tokio::spawn(async move { broker.publish(topic("t"), vec![with_dedup("x", "d")]).await })
        };
        let first = publish(&rig);
        assert!(is_waiting(&first).await);
        let second = publish(&rig);
        assert!(is_waiting(&second).await, "the duplicate was answered while the first may still be lost");
        faults.release();
        let first = first.await.expect("no panic").expect("answered").pop().expect("one").expect("accepted");
        let second = second.await.expect("no panic").expect("answered").pop().expect("one").expect("a duplicate");
        assert_eq!((second.status, second.id), (PublishStatus::Duplicate, first.id));
    });
}

#[test]
fn a_read_only_answer_waits_for_the_writes_that_it_rests_on() {
    run(async {
        let (rig, faults) = faulty().await;
        let published = rig.publish("t", after("x", secs(60))).await;
        faults.hold();
        let broker = rig.broker.clone();
        let handle = rig.id(&published.id);
        let cancel = tokio::spawn(async move { broker.cancel(topic("t"), handle).await });
        assert!(is_waiting(&cancel).await);
        let broker = rig.broker.clone();
        let handle = rig.id(&published.id);
        let look = tokio::spawn(async move { broker.get(topic("t"), handle).await });
        assert!(is_waiting(&look).await, "`not found` was answered while the cancel may still be lost");
        faults.release();
        cancel.await.expect("no panic").expect("cancelled");
        assert_eq!(look.await.expect("no panic").expect_err("gone").code, Code::MessageNotFound);
    });
}

#[test]
fn an_undurable_message_is_not_offered() {
    run(async {
        let (rig, faults) = faulty().await;
        rig.broker.put_subscription(sub("t/s"), SubscriptionPatch::default()).await.expect("made");
        faults.hold();
        let broker = rig.broker.clone();
        let publish = tokio::spawn(async move { broker.publish(topic("t"), vec![message("x")]).await });
        assert!(is_waiting(&publish).await);
        assert!(rig.receive("t/s", 1).await.is_empty());
        faults.release();
        publish.await.expect("no panic").expect("answered");
        let mut waiting = receive("t/s", 1);
        waiting.wait = secs(10);
        assert_eq!(rig.broker.receive(waiting).await.expect("received").len(), 1);
    });
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_any_more() {
    run(async {
        let (rig, faults) = faulty().await;
        rig.publish("t", message("fine")).await;
        let got = rig.receive_one("t/s").await;
        faults.fail_durable(1, Lasting::Once);
        let error = rig.try_publish("t", message("lost?")).await.expect_err("not acknowledged");
        assert_eq!((error.code, error.kind()), (Code::OutcomeUnknown, Kind::UnknownOutcome));
        let failure = rig.broker.failed().await;
        assert!(failure.to_string().contains("store failed"), "{failure}");
        assert!(matches!(rig.broker.health().await, Ok(Health::Failed(_))));
        let again = rig.try_publish("t", message("no")).await.expect_err("latched");
        assert_eq!(again.code, Code::OutcomeUnknown);
        let ack = rig.broker.ack(sub("t/s"), vec![got.receipt]).await.expect_err("latched");
        assert_eq!(ack.code, Code::OutcomeUnknown);
    });
}

#[test]
fn after_a_failed_commit_nothing_is_acknowledged_any_more() {
    run(async {
        let (rig, faults) = faulty().await;
        rig.publish("t", message("fine")).await;
        faults.fail_commit(1, Lasting::Once);
        assert_eq!(rig.try_publish("t", message("x")).await.expect_err("failed").code, Code::OutcomeUnknown);
        rig.broker.failed().await;
        assert_eq!(rig.try_publish("t", message("x")).await.expect_err("latched").code, Code::OutcomeUnknown);
    });
}

/// A store whose reads panic once it is told so, a stand-in for a bug in whatever a worker runs, and
/// whose disk has as many bytes left as it is told.
struct Buggy {
    inner: Arc<MemoryStore>,
    armed: Arc<AtomicBool>,
    free_bytes: Arc<AtomicU64>,
}

impl Buggy {
    fn new() -> Self {
        let inner = Arc::new(MemoryStore::new(4, [7; 16]));
        Self { inner, armed: Arc::default(), free_bytes: Arc::new(AtomicU64::new(u64::MAX)) }
    }
}

struct BuggyShard {
    inner: Arc<dyn ShardStore>,
    armed: Arc<AtomicBool>,
}

impl Store for Buggy {
    fn shards(&self) -> u16 {
        self.inner.shards()
    }
    fn secret(&self) -> [u8; 16] {
        self.inner.secret()
    }
    fn shard(&self, shard: ShardNumber) -> Result<Arc<dyn ShardStore>, StoreError> {
        Ok(Arc::new(BuggyShard { inner: self.inner.shard(shard)?, armed: self.armed.clone() }))
    }
    fn failure(&self) -> Option<StoreError> {
        self.inner.failure()
    }
    fn usage(&self) -> StoreUsage {
        StoreUsage { free_bytes: self.free_bytes.load(Ordering::Relaxed), ..self.inner.usage() }
    }
    fn observe_syncs(&self, observer: SyncObserver) {
        self.inner.observe_syncs(observer);
    }
    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

impl ShardStore for BuggyShard {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<CommitNumber, StoreError>> {
        self.inner.commit(batch)
    }
    fn durable(&self, commit: CommitNumber) -> BoxFuture<'static, Result<Durable, StoreError>> {
        self.inner.durable(commit)
    }
    fn read(&self, reads: Vec<Read>) -> BoxFuture<'_, Result<Vec<ReadReply>, StoreError>> {
        assert!(!self.armed.load(Ordering::Relaxed), "a planted bug");
        self.inner.read(reads)
    }
    fn load_state(&self, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.inner.load_state(show)
    }
}

#[test]
fn a_bug_that_ends_a_worker_ends_the_broker_and_says_so() {
    run(async {
        let store = Buggy::new();
        let (memory, armed) = (store.inner.clone(), store.armed.clone());
        let rig = Rig { broker: open(Arc::new(store)).await, store: memory };
        rig.publish("t", message("fine")).await;
        armed.store(true, Ordering::Relaxed);
        let refused = rig.try_publish("t", with_dedup("x", "d")).await.expect_err("its worker is gone");
        assert_eq!(refused.code, Code::OutcomeUnknown);
        assert!(rig.broker.failed().await.to_string().contains("panicked"));
        assert!(matches!(rig.broker.health().await, Ok(Health::Failed(_))));
    });
}

#[test]
fn what_was_under_way_at_a_close_is_answered() {
    run(async {
        let (rig, faults) = faulty().await;
        rig.publish("t", message("warm up")).await;
        faults.hold();
        let broker = rig.broker.clone();
        let publish = tokio::spawn(async move { broker.publish(topic("t"), vec![message("x")]).await });
        assert!(is_waiting(&publish).await);
        let broker = rig.broker.clone();
        let close = tokio::spawn(async move { broker.close().await });
        assert!(is_waiting(&close).await);
        faults.release();
        close.await.expect("no panic").expect("closed");
        let answer = publish.await.expect("no panic").expect("answered");
        assert!(answer.iter().all(Result::is_ok), "{answer:?}");
    });
}

#[test]
fn a_closed_broker_takes_nothing_and_opens_again_with_everything() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("x")).await;
        rig.receive_one("t/s").await;
        rig.broker.close().await.expect("closed");
        assert_eq!(rig.try_publish("t", message("y")).await.expect_err("stopping").code, Code::ShuttingDown);
        let rig = rig.crash().await;
        let got = rig.receive("t/s", 10).await;
        assert_eq!((bodies(&got), got[0].attempt), (vec!["x".to_owned()], 1));
    });
}

#[test]
fn a_nearly_full_disk_refuses_publishing_and_nothing_else() {
    run(async {
        let store = Buggy::new();
        let (memory, free_bytes) = (store.inner.clone(), store.free_bytes.clone());
        let rig = Rig { broker: open(Arc::new(store)).await, store: memory };
        let scheduled = rig.publish("t", after("later", secs(60))).await;
        rig.publish("t", message("now")).await;
        // Time stands still here: what is written since the last look makes it look again.
        let reserve = rig.broker.limits().disk_reserve_bytes;
        free_bytes.store(reserve - 1, Ordering::Relaxed);
        let big = || NewMessage { body: vec![0; 4 << 20].into(), ..message("") };
        let mut refused = None;
        for _ in 0..reserve / 8 / (8 << 20) + 1 {
            refused = rig.try_publish("t", big()).await.err();
        }
        let refused = refused.expect("refused before an eighth of the reserve was used");
        assert_eq!((refused.code, refused.kind()), (Code::DiskFull, Kind::Unavailable));
        assert!(refused.retry_after_ms.is_some());
        let got = rig.receive_one("t/s").await;
        assert_eq!(rig.ack("t/s", &[got]).await, [AckOutcome::Acked]);
        let cancelled = rig.broker.cancel(topic("t"), rig.id(&scheduled.id)).await;
        assert_eq!(cancelled, Ok(punctual_broker_api::CancelOutcome::Cancelled));
        free_bytes.store(u64::MAX, Ordering::Relaxed);
        rig.publish("t", message("there is room again")).await;
    });
}
