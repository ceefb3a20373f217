//! The lease of a message lasts as long as its handler, and a handler that lost it is told.

use std::{convert::Infallible, sync::Arc};

use punctual_client::{ClientMetrics, Leased, Worker, api::*};
use tokio::sync::Semaphore;

use crate::support::{ManualClock, closing, embedded, end_of, publish, reports, secs, seen, stats};

#[tokio::test]
async fn a_handler_that_works_for_many_leases_is_given_its_message_once() {
    let (broker, clock) = (embedded().await, Arc::new(ManualClock::default()));
    publish(&broker, &["a"]).await;
    let gate = Arc::new(Semaphore::new(0));
    let (report, mut handled) = reports();
    let worker = Worker::new(Arc::clone(&broker), closing()).concurrency(2).clock(clock.clone());
    let (stopper, handler_gate) = (worker.stopper(), Arc::clone(&gate));
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(seen(&leased));
        let gate = Arc::clone(&handler_gate);
        async move { gate.acquire().await.map(|permit| permit.forget()) }
    }));
    assert_eq!(handled.next().await, ("a".to_owned(), 1));
    // Ten minutes, twenty times the lease; both clocks go on by a third of it at a time.
    for _ in 0..60 {
        clock.sleeper(secs(10)).await;
        broker.advance_clock(DelayMs::from_secs(10)).await.expect("advanced");
        clock.advance(secs(10));
    }
    clock.sleeper(secs(10)).await;
    gate.add_permits(1);
    stopper.stop();
    end_of(running).await.expect("stopped");
    assert!(handled.is_empty(), "delivered once");
    let stats = stats(&broker).await;
    assert_eq!((stats.delivered_total, stats.acked_total, stats.failed_total), (1, 1, 0));
}

#[tokio::test]
async fn a_lease_of_the_workers_own_is_asked_for_and_kept() {
    let (broker, clock) = (embedded().await, Arc::new(ManualClock::default()));
    publish(&broker, &["a"]).await;
    let (report, mut handled) = reports();
    let lease = DelayMs::from_secs(600);
    let worker = Worker::new(Arc::clone(&broker), closing()).lease(lease).clock(clock.clone());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(leased.lease_expires_at.since(leased.delivered_at));
        async move {
            leased.lease().lost().await;
            Ok::<_, Infallible>(())
        }
    }));
    assert_eq!(handled.next().await, lease);
    clock.sleeper(secs(200)).await;
    stopper.stop();
    clock.sleeper(secs(30)).await;
    clock.advance(secs(30));
    end_of(running).await.expect("stopped");
}

#[tokio::test]
async fn a_handler_that_lost_its_lease_is_told_and_its_answer_is_not_sent() {
    let (broker, clock) = (embedded().await, Arc::new(ManualClock::default()));
    publish(&broker, &["a"]).await;
    let (report, mut handled) = reports();
    let metrics = ClientMetrics::default();
    let worker = Worker::new(Arc::clone(&broker), closing()).concurrency(2).clock(clock.clone()).metrics(&metrics);
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        let report = report.clone();
        async move {
            if leased.attempt > 1 {
                report("given again");
                return Ok::<_, Infallible>(());
            }
            assert!(!leased.lease().is_lost());
            report("begun");
            leased.lease().lost().await;
            assert!(leased.lease().is_lost());
            report("told");
            Ok(())
        }
    }));
    assert_eq!(handled.next().await, "begun");
    clock.sleeper(secs(10)).await;
    // This process stood still for longer than the lease; the broker did not.
    broker.advance_clock(DelayMs::from_secs(31)).await.expect("advanced");
    assert_eq!(handled.next().await, "given again");
    clock.advance(secs(31));
    assert_eq!(handled.next().await, "told");
    stopper.stop();
    end_of(running).await.expect("stopped");
    let page = metrics.render();
    assert!(page.contains(r#"_count{topic="orders",subscription="closing",outcome="lease_lost"} 1"#), "{page}");
    assert!(page.contains(r#"_count{topic="orders",subscription="closing",outcome="acked"} 1"#), "{page}");
}
