//! A publish with a dedup id, sent again: one message, however late the second comes and whatever
//! became of the first.

mod support;

use punctual_broker_api::{
    AckOutcome, Broker as _, CancelOutcome, NewMessage, Patch, PublishStatus, Published, TopicPatch, When,
};
use support::*;

/// A topic that remembers dedup ids for ten seconds.
async fn rig() -> Rig {
    let rig = Rig::new().await;
    let patch = TopicPatch { dedup_window: Patch::Set(secs(10)), ..TopicPatch::default() };
    rig.broker.put_topic(topic("t"), patch).await.expect("made");
    rig
}

fn once(body: &str, when: When) -> NewMessage {
    NewMessage { dedup_id: Some("d".into()), when, ..message(body) }
}

async fn again(rig: &Rig) -> Published {
    rig.publish("t", once("again", When::Now)).await
}

fn is_first(published: &Published, first: &Published) {
    assert_eq!((&published.id, published.deliver_at), (&first.id, first.deliver_at));
    assert_eq!(published.status, PublishStatus::Duplicate);
}

#[test]
fn the_window_ends_on_its_millisecond() {
    run(async {
        let rig = rig().await;
        let first = rig.publish("t", once("first", When::Now)).await;
        is_first(&again(&rig).await, &first);
        rig.advance(ms(9_999)).await;
        is_first(&again(&rig).await, &first);
        rig.advance(ms(1)).await;
        let second = again(&rig).await;
        assert_eq!(second.status, PublishStatus::Accepted);
        // From here on the window of the second counts.
        rig.advance(ms(9_999)).await;
        is_first(&again(&rig).await, &second);
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["first", "again"]);
    });
}

#[test]
fn what_was_delivered_and_acked_at_once_is_not_taken_again() {
    run(async {
        let rig = rig().await;
        let first = rig.publish("t", once("first", When::Now)).await;
        let got = rig.receive("t/s", 10).await;
        assert_eq!(rig.ack("t/s", &got).await, [AckOutcome::Acked]);
        is_first(&again(&rig).await, &first);
        rig.advance(ms(9_999)).await;
        is_first(&again(&rig).await, &first);
        assert!(rig.receive("t/s", 10).await.is_empty());
    });
}

#[test]
fn the_first_is_remembered_for_as_long_as_it_is_scheduled() {
    run(async {
        let rig = rig().await;
        let first = rig.publish("t", once("first", When::Delay(secs(3600)))).await;
        rig.advance(secs(3599)).await;
        is_first(&again(&rig).await, &first);
        let rig = rig.crash().await;
        rig.advance(ms(999)).await;
        is_first(&again(&rig).await, &first);
        rig.advance(ms(1)).await;
        assert_eq!(again(&rig).await.status, PublishStatus::Accepted, "it is due, and its window is long over");
    });
}

#[test]
fn a_restart_forgets_no_dedup_id_and_keeps_the_window_s_end() {
    run(async {
        let rig = rig().await;
        let first = rig.publish("t", once("first", When::Now)).await;
        // The answer was lost with the broker: the producer sends it again.
        let rig = rig.crash().await;
        is_first(&again(&rig).await, &first);
        rig.advance(ms(9_999)).await;
        let rig = rig.crash().await;
        is_first(&again(&rig).await, &first);
        rig.advance(ms(1)).await;
        assert_eq!(again(&rig).await.status, PublishStatus::Accepted);
    });
}

#[test]
fn sending_again_does_not_bring_back_what_was_cancelled_meanwhile() {
    run(async {
        let rig = rig().await;
        let first = rig.publish("t", once("first", When::Delay(secs(60)))).await;
        let cancelled = rig.broker.cancel(topic("t"), rig.id(&first.id)).await.expect("answered");
        assert_eq!(cancelled, CancelOutcome::Cancelled);
        // Who sends again does not know of the cancel: perhaps the first answer was lost.
        is_first(&again(&rig).await, &first);
        rig.advance(secs(10)).await;
        assert_eq!(again(&rig).await.status, PublishStatus::Accepted, "after the window it is a new message");
    });
}
