//! The unique row, in a real PostgreSQL. Where none is installed these tests say so and pass.

use std::sync::Arc;

use punctual_client::{Guarded, Idempotency, Leased, Worker, api::*};
use tokio::sync::oneshot;

use crate::support::{
    closing, embedded, end_of,
    postgres::{Handled, Postgres, Session},
    publish, reports,
};

fn server() -> Option<Arc<Postgres>> {
    let server = Postgres::start();
    if server.is_none() {
        eprintln!("PostgreSQL is not installed: nothing was tried");
    }
    server
}

fn id() -> MessageId {
    MessageId::new("message-1")
}

async fn effect(transaction: &mut Session) -> Result<(), String> {
    transaction.ask("INSERT INTO effects VALUES ('closed');");
    Ok(())
}

async fn failing(transaction: &mut Session) -> Result<(), String> {
    effect(transaction).await?;
    Err("failed".to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_effect_is_had_once_and_a_failed_one_leaves_nothing() {
    let Some(server) = server() else { return };
    let guard = Idempotency::unique_row(Handled(Arc::clone(&server)));
    assert_eq!(guard.once(&id(), failing).await, Err("failed".to_owned()));
    assert_eq!(server.effects(), "0");
    assert_eq!(guard.once(&id(), effect).await, Ok(Guarded::Done(())));
    assert_eq!(guard.once(&id(), effect).await, Ok(Guarded::Skipped));
    assert_eq!(server.effects(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_consumer_that_dies_between_effect_and_commit_leaves_the_message_to_the_next() {
    let Some(server) = server() else { return };
    let guard = Idempotency::unique_row(Handled(Arc::clone(&server)));
    let (tell, had) = oneshot::channel();
    let dying = tokio::spawn({
        let guard = guard.clone();
        async move {
            guard
                .once(&id(), async |transaction| {
                    effect(transaction).await?;
                    let _ = tell.send(());
                    std::future::pending::<Result<(), String>>().await
                })
                .await
        }
    });
    had.await.expect("the effect was had");
    dying.abort();
    assert!(dying.await.is_err());
    assert_eq!(server.effects(), "0");
    assert_eq!(guard.once(&id(), effect).await, Ok(Guarded::Done(())));
    assert_eq!(server.effects(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_consumers_at_once_one_has_the_effect() {
    let Some(server) = server() else { return };
    let guard = Idempotency::unique_row(Handled(Arc::clone(&server)));
    let rivals: Vec<_> = (0..2)
        .map(|_| {
            let guard = guard.clone();
            tokio::spawn(async move { guard.once(&id(), effect).await })
        })
        .collect();
    let mut done = Vec::new();
    for rival in rivals {
        done.push(end_of(rival).await.expect("no error"));
    }
    done.sort_by_key(|outcome| *outcome == Guarded::Skipped);
    assert_eq!(done, [Guarded::Done(()), Guarded::Skipped]);
    assert_eq!(server.effects(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_that_is_delivered_again_after_its_effect_has_no_second_one() {
    let Some(server) = server() else { return };
    let broker = embedded().await;
    publish(&broker, &["order 42"]).await;
    let guard = Idempotency::unique_row(Handled(Arc::clone(&server)));
    let (report, mut handled) = reports();
    let worker = Worker::new(Arc::clone(&broker), closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |order: Leased| {
        let (guard, report) = (guard.clone(), report.clone());
        async move {
            report(guard.once(&order.id, effect).await?);
            // The first time something goes wrong between the commit and the ack.
            if order.attempt == 1 { Err("out of memory".to_owned()) } else { Ok(()) }
        }
    }));
    assert_eq!(handled.next().await, Guarded::Done(()));
    while crate::support::stats(&broker).await.retrying == 0 {
        tokio::task::yield_now().await;
    }
    broker.advance_clock(DelayMs::from_secs(10)).await.expect("advanced");
    assert_eq!(handled.next().await, Guarded::Skipped);
    stopper.stop();
    end_of(running).await.expect("stopped");
    assert_eq!(server.effects(), "1");
}
