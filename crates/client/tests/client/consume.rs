//! What becomes of a message that a handler was given.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use punctual_client::{Failure, Leased, Worker, api::*};
use tokio::sync::Semaphore;

use crate::support::{closing, embedded, end_of, publish, receive, reports, seen, stats};

#[tokio::test]
async fn ok_acks() {
    let broker = embedded().await;
    publish(&broker, &["a", "b", "c"]).await;
    let (report, mut handled) = reports();
    let worker = Worker::new(Arc::clone(&broker), closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(seen(&leased));
        async { Ok::<_, Infallible>(()) }
    }));
    for body in ["a", "b", "c"] {
        assert_eq!(handled.next().await, (body.to_owned(), 1));
    }
    stopper.stop();
    end_of(running).await.expect("stopped");
    let stats = stats(&broker).await;
    assert_eq!((stats.acked_total, stats.leased, stats.ready), (3, 0, 0));
}

/// Lets a handler fail as often as the subscription allows; answers with the dead letter's history
/// and the attempts that the handler saw.
async fn dead_letter<F>(handler: impl Fn() -> F + Send + Sync + 'static) -> (DeadLetterHistory, Vec<u32>)
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let broker = embedded().await;
    let retry = RetryPatch { max_attempts: Patch::Set(2), jitter: Patch::Set(0.0), ..RetryPatch::default() };
    let patch = SubscriptionPatch { retry: Patch::Set(retry), ..SubscriptionPatch::default() };
    broker.put_subscription(closing(), patch).await.expect("a subscription");
    publish(&broker, &["a"]).await;
    let (report, mut handled) = reports();
    let worker = Worker::new(Arc::clone(&broker), closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(leased.attempt);
        handler()
    }));
    let mut attempts = vec![handled.next().await];
    while stats(&broker).await.retrying == 0 {
        tokio::task::yield_now().await;
    }
    broker.advance_clock(DelayMs::from_secs(1)).await.expect("advanced");
    attempts.push(handled.next().await);
    let dead = punctual_client::subscription("orders.closing.dead", "looking").expect("names");
    let letters = receive(&broker, &dead, 1).await;
    stopper.stop();
    end_of(running).await.expect("stopped");
    let history = letters.first().and_then(|letter| letter.dead_letter.clone()).expect("a dead letter");
    (*history, attempts)
}

#[tokio::test]
async fn an_error_is_tried_again_as_the_policy_says_and_its_text_reaches_the_dead_letter() {
    let error = || std::io::Error::other("the bank is closed");
    let (history, attempts) = dead_letter(move || async move { Err(error().into()) }).await;
    assert_eq!(attempts, [1, 2]);
    assert_eq!(history.reason, DeadLetterReason::AttemptsExhausted);
    assert_eq!((history.subscription.as_str(), history.attempts), ("closing", 2));
    assert_eq!(history.last_error.as_deref(), Some("the bank is closed"));
}

#[tokio::test]
async fn a_long_error_reaches_the_dead_letter_cut_to_what_the_broker_takes() {
    let (history, _) = dead_letter(|| async { Err(Failure::new("ä".repeat(5000))) }).await;
    assert_eq!(history.last_error, Some("ä".repeat(2048)));
}

fn panicking() -> std::future::Ready<Result<(), Failure>> {
    panic!("no such order")
}

#[tokio::test]
async fn a_panic_is_a_failure_before_and_after_the_first_await() {
    let (history, attempts) = dead_letter(panicking).await;
    assert_eq!(attempts, [1, 2]);
    assert_eq!(history.last_error.as_deref(), Some("the handler panicked: no such order"));
    let later = || async {
        tokio::task::yield_now().await;
        panic!("no such order: {}", 42)
    };
    let (history, _) = dead_letter(later).await;
    assert_eq!(history.last_error.as_deref(), Some("the handler panicked: no such order: 42"));
}

#[tokio::test]
async fn a_delay_that_the_failure_carries_goes_before_the_policy() {
    let broker = embedded().await;
    publish(&broker, &["a"]).await;
    let (report, mut handled) = reports();
    let worker = Worker::new(Arc::clone(&broker), closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(leased.attempt);
        async { Err::<(), _>(Failure::new("tomorrow").retry_after(DelayMs::from_secs(86_400))) }
    }));
    assert_eq!(handled.next().await, 1);
    while stats(&broker).await.retrying == 0 {
        tokio::task::yield_now().await;
    }
    broker.advance_clock(DelayMs::from_ms(86_399_999)).await.expect("advanced");
    assert!(handled.is_empty(), "not before the day is over");
    broker.advance_clock(DelayMs::from_ms(1)).await.expect("advanced");
    assert_eq!(handled.next().await, 2);
    stopper.stop();
    end_of(running).await.expect("stopped");
}

#[tokio::test]
async fn as_many_run_at_once_as_allowed_and_never_more() {
    let broker = embedded().await;
    publish(&broker, &["x"; 20]).await;
    let (gate, running_now) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (report, mut handled) = reports();
    let worker = Worker::new(Arc::clone(&broker), closing()).concurrency(3);
    let stopper = worker.stopper();
    let handler_gate = Arc::clone(&gate);
    let running = tokio::spawn(worker.run(move |_: Leased| {
        let (gate, running_now, report) = (Arc::clone(&handler_gate), Arc::clone(&running_now), report.clone());
        async move {
            report(running_now.fetch_add(1, Ordering::SeqCst) + 1);
            gate.acquire().await.map_err(|_| "no gate")?.forget();
            running_now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, &str>(())
        }
    }));
    for expected in 1..=3 {
        assert_eq!(handled.next().await, expected);
    }
    assert_eq!(stats(&broker).await.leased, 3, "what does not run is not leased");
    for _ in 3..20 {
        gate.add_permits(1);
        assert_eq!(handled.next().await, 3);
    }
    gate.add_permits(3);
    stopper.stop();
    end_of(running).await.expect("stopped");
    assert_eq!(stats(&broker).await.acked_total, 20);
}

#[tokio::test]
async fn what_runs_at_once_is_bounded_whatever_is_asked_for() {
    let concurrency_max = 10_000;
    let broker = embedded().await;
    publish(&broker, &["x"; 5001]).await;
    publish(&broker, &["x"; 5001]).await;
    let worker = Worker::new(Arc::clone(&broker), closing()).concurrency(u32::MAX);
    let running = tokio::spawn(worker.run(|_| std::future::pending::<Result<(), Infallible>>()));
    while broker.get_subscription(closing()).await.map_or(0, |view| view.stats.leased) < concurrency_max {
        tokio::task::yield_now().await;
    }
    let stats = stats(&broker).await;
    assert_eq!((stats.leased, stats.ready), (concurrency_max, 2));
    running.abort();
}

#[tokio::test]
async fn a_subscription_that_waiting_does_not_mend_ends_the_worker_with_the_reason() {
    let broker = embedded().await;
    let patch = NamespacePatch { auto_create: Patch::Set(false), ..NamespacePatch::default() };
    broker.put_namespace(NamespaceName::default(), patch).await.expect("a namespace");
    let worker = Worker::new(broker, closing());
    let error = worker.run(|_| async { Ok::<_, Infallible>(()) }).await.expect_err("refused");
    assert_eq!(error.code, Code::TopicNotFound);
}
