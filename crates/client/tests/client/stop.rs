//! The ways in which a worker ends.

use std::{convert::Infallible, sync::Arc};

use punctual_client::{Leased, Worker};
use tokio::sync::Semaphore;

use crate::support::{ManualClock, closing, embedded, end_of, publish, receive, reports, secs, stats, text};

const STOP_WAIT_DEFAULT: std::time::Duration = secs(30);

/// A worker whose handlers wait for a gate.
fn gated(worker: Worker) -> (tokio::task::JoinHandle<()>, Arc<Semaphore>, crate::support::Reports<String>) {
    let (report, handled) = reports();
    let gate = Arc::new(Semaphore::new(0));
    let handler_gate = Arc::clone(&gate);
    let running = worker.run(move |leased: Leased| {
        report(text(&leased));
        let gate = Arc::clone(&handler_gate);
        async move { gate.acquire().await.map(|permit| permit.forget()) }
    });
    (tokio::spawn(async { running.await.expect("stopped") }), gate, handled)
}

#[tokio::test]
async fn what_runs_at_the_stop_is_finished_and_acked_and_nothing_more_is_taken() {
    let (broker, clock) = (embedded().await, Arc::new(ManualClock::default()));
    publish(&broker, &["a", "b", "c"]).await;
    let worker = Worker::new(Arc::clone(&broker), closing()).concurrency(2).clock(clock.clone());
    let stopper = worker.stopper();
    let (running, gate, mut handled) = gated(worker);
    assert_eq!((handled.next().await, handled.next().await), ("a".to_owned(), "b".to_owned()));
    stopper.stop();
    // The worker has heard it once it waits for its handlers.
    clock.sleeper(STOP_WAIT_DEFAULT).await;
    gate.add_permits(3);
    end_of(running).await;
    assert!(handled.is_empty(), "nothing more is taken");
    let stats = stats(&broker).await;
    assert_eq!((stats.acked_total, stats.leased, stats.ready), (2, 0, 1));
}

#[tokio::test]
async fn what_does_not_end_in_time_is_given_back_with_its_attempt_not_raised() {
    let (broker, clock) = (embedded().await, Arc::new(ManualClock::default()));
    publish(&broker, &["a"]).await;
    let worker = Worker::new(Arc::clone(&broker), closing()).stop_wait(secs(4)).clock(clock.clone());
    let stopper = worker.stopper();
    let (running, _gate, mut handled) = gated(worker);
    assert_eq!(handled.next().await, "a");
    stopper.stop();
    clock.sleeper(secs(4)).await;
    clock.advance(secs(4));
    end_of(running).await;
    let again = receive(&broker, &closing(), 1).await;
    assert_eq!((again[0].attempt, stats(&broker).await.failed_total), (1, 0));
}

#[tokio::test]
async fn a_worker_that_is_dropped_is_a_lost_connection() {
    let broker = embedded().await;
    publish(&broker, &["a"]).await;
    let (running, _gate, mut handled) = gated(Worker::new(Arc::clone(&broker), closing()));
    assert_eq!(handled.next().await, "a");
    running.abort();
    assert_eq!(receive(&broker, &closing(), 1).await[0].attempt, 2);
}

#[tokio::test]
async fn a_worker_that_is_stopped_before_it_runs_takes_nothing() {
    let broker = embedded().await;
    publish(&broker, &["a"]).await;
    let worker = Worker::new(Arc::clone(&broker), closing());
    worker.stopper().stop();
    worker.run(|_| async { Err::<(), _>("handled") }).await.expect("stopped");
    assert_eq!(receive(&broker, &closing(), 1).await[0].attempt, 1);
    // Nor does the clock matter when the other end of the switch is gone.
    let worker = Worker::new(Arc::clone(&broker), closing());
    drop(worker.stopper());
    drop(worker.run(|_| async { Ok::<_, Infallible>(()) }));
}
