//! What guards do on a second delivery, when the first one failed, and between two consumers.

use std::{cell::Cell, sync::Arc, time::Duration};

use punctual_client::{Guarded, Idempotency, Leased, MarkerError, MemoryMarker, Worker, api::*};

use crate::support::{ManualClock, closing, embedded, end_of, publish, reports, secs};

const MARKER_CLAIM_DEFAULT: Duration = secs(300);
const MARKER_KEPT_DEFAULT: Duration = secs(24 * 3600);

fn id() -> MessageId {
    MessageId::new("message 1")
}

#[tokio::test]
async fn a_marker_lets_the_second_delivery_pass_without_the_effect() {
    let guard = Idempotency::marker(MemoryMarker::default());
    let effects = Cell::new(0);
    let effect = async || {
        effects.set(effects.get() + 1);
        Ok::<_, &str>("done")
    };
    assert_eq!(guard.once(&id(), effect).await, Ok(Guarded::Done("done")));
    assert_eq!(guard.once(&id(), effect).await, Ok(Guarded::Skipped));
    assert_eq!(guard.once(&MessageId::new("message 2"), effect).await, Ok(Guarded::Done("done")));
    assert_eq!(effects.get(), 2);
}

#[tokio::test]
async fn a_marker_gives_its_claim_up_when_the_effect_fails() {
    let guard = Idempotency::marker(MemoryMarker::default());
    assert_eq!(guard.once(&id(), async || Err::<(), _>("failed")).await, Err(MarkerError::Effect("failed")));
    assert_eq!(guard.once(&id(), async || Ok::<_, &str>(())).await, Ok(Guarded::Done(())));
}

#[tokio::test]
async fn a_marker_keeps_a_second_consumer_out_while_the_first_is_at_it() {
    let guard = Idempotency::marker(MemoryMarker::default());
    let second = async || guard.once(&id(), async || Ok::<_, &str>(())).await;
    let first = guard.once(&id(), async || Ok::<_, &str>(second().await)).await;
    assert_eq!(first, Ok(Guarded::Done(Err(MarkerError::Busy))));
}

#[tokio::test]
async fn a_claim_that_its_owner_never_gave_up_expires_and_so_does_a_note() {
    let (id, clock) = (id(), Arc::new(ManualClock::default()));
    let guard = Idempotency::marker(MemoryMarker::with_clock(clock.clone()));
    // A consumer that dies in the midst of it.
    let died = tokio::time::timeout(
        secs(0),
        guard.once(&id, async || {
            std::future::pending::<()>().await;
            Ok::<_, &str>(())
        }),
    );
    assert!(died.await.is_err());
    let effect = async || Ok::<_, &str>(());
    clock.advance(MARKER_CLAIM_DEFAULT - secs(1));
    assert_eq!(guard.once(&id, effect).await, Err(MarkerError::Busy));
    clock.advance(secs(1));
    assert_eq!(guard.once(&id, effect).await, Ok(Guarded::Done(())));
    clock.advance(MARKER_KEPT_DEFAULT - secs(1));
    assert_eq!(guard.once(&id, effect).await, Ok(Guarded::Skipped));
    clock.advance(secs(1));
    assert_eq!(guard.once(&id, effect).await, Ok(Guarded::Done(())));
}

#[tokio::test]
async fn an_owner_whose_claim_expired_does_not_take_the_next_ones() {
    let (id, clock) = (id(), Arc::new(ManualClock::default()));
    let guard = Idempotency::marker(MemoryMarker::with_clock(clock.clone())).claim(secs(60));
    let third = async || guard.once(&id, async || Ok::<_, &str>(())).await;
    let second = async || guard.once(&id, async || Ok::<_, &str>(third().await)).await;
    let slow = guard.once(&id, async || {
        clock.advance(secs(60));
        let begun = second().await;
        Err::<(), _>(format!("{begun:?}"))
    });
    assert_eq!(slow.await, Err(MarkerError::Effect("Ok(Done(Err(Busy)))".to_owned())));
}

#[tokio::test]
async fn a_state_check_skips_what_is_no_longer_to_be_done() {
    let broker = embedded().await;
    publish(&broker, &["paid", "open"]).await;
    let (report, mut handled) = reports();
    let guard = Idempotency::state_check(|order: &Delivery| {
        let is_open = order.body != "paid";
        async move { Ok::<_, String>(is_open) }
    });
    let worker = Worker::new(Arc::clone(&broker), closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        let report = report.clone();
        async move {
            let closed = guard.once(&leased, async || Ok::<_, String>(())).await?;
            report((leased.body.clone(), closed));
            Ok::<_, String>(())
        }
    }));
    assert_eq!(handled.next().await, ("paid".into(), Guarded::Skipped));
    assert_eq!(handled.next().await, ("open".into(), Guarded::Done(())));
    stopper.stop();
    end_of(running).await.expect("stopped");
}
