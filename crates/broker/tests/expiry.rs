//! Messages that come to their end: by `expires_after`, by their topic's retention; and what is kept.

mod support;

use punctual_broker_api::{
    AckOutcome, Broker as _, CancelOutcome, DelayMs, NackOutcome, NewMessage, OnExpiry, Patch, SeekTo, TopicPatch,
};
use punctual_types::limits;
use support::*;

fn expiring(body: &str, after: DelayMs) -> NewMessage {
    NewMessage { expires_after: Some(after), ..message(body) }
}

async fn with(patch: TopicPatch) -> Rig {
    let rig = Rig::new().await;
    rig.broker.put_topic(topic("t"), patch).await.expect("made");
    rig
}

#[test]
fn a_message_expires_at_its_time_and_not_at_the_queues_head() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("first")).await;
        let expiring = rig.publish("t", expiring("second", secs(10))).await;
        assert_eq!(bodies(&rig.receive("t/s", 1).await), ["first"]);
        rig.advance(ms(9_999)).await;
        assert_eq!(rig.stats("t").await.expired_total, 0);
        rig.advance(ms(1)).await;
        assert!(rig.receive("t/s", 10).await.is_empty());
        let stats = rig.stats("t").await;
        assert_eq!((stats.expired_total, stats.ready, stats.leased), (1, 0, 1));
        let again = rig.broker.cancel(topic("t"), rig.id(&expiring.id)).await.expect("answered");
        assert_eq!(again, CancelOutcome::TooLate);
    });
}

#[test]
fn what_expires_with_a_consumer_may_still_be_acked_and_is_not_offered_again() {
    run(async {
        let rig = Rig::new().await;
        for body in ["a", "b", "c"] {
            rig.publish("t", expiring(body, secs(10))).await;
        }
        let got = rig.receive("t/s", 10).await;
        rig.advance(secs(10)).await;
        assert_eq!(rig.stats("t").await.expired_total, 0, "all of it is with a consumer");
        assert_eq!(rig.ack("t/s", &got[..1]).await, [AckOutcome::Acked]);
        assert_eq!(rig.nack("t/s", &got[1], None).await, NackOutcome::Retry);
        rig.advance(secs(60)).await;
        assert!(rig.receive("t/s", 10).await.is_empty());
        let stats = rig.stats("t").await;
        assert_eq!((stats.expired_total, stats.acked_total, stats.retrying, stats.ready), (2, 1, 0, 0));
    });
}

#[test]
fn an_expired_message_goes_to_the_dead_letters_where_the_topic_says_so() {
    run(async {
        let rig = with(TopicPatch { on_expiry: Patch::Set(OnExpiry::DeadLetter), ..Default::default() }).await;
        rig.publish("t", expiring("a", secs(10))).await;
        rig.publish("t", expiring("b", secs(10))).await;
        let got = rig.receive("t/s", 1).await;
        rig.advance(secs(10)).await;
        assert_eq!(rig.nack("t/s", &got[0], None).await, NackOutcome::DeadLettered);
        rig.advance(ms(1)).await;
        let letters = rig.receive("t.s.dead/look", 10).await;
        assert_eq!(bodies(&letters), ["b", "a"]);
        let letter = letters[0].dead_letter.as_ref().expect("a history");
        assert_eq!((letter.reason.as_str(), letter.attempts), ("expired", 0));
        assert_eq!(rig.stats("t").await.expired_total, 2);
    });
}

#[test]
fn what_expired_while_the_broker_was_down_is_counted_and_not_delivered() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", expiring("a", secs(10))).await;
        rig.publish("t", NewMessage { expires_after: Some(secs(10)), ..after("b", secs(5)) }).await;
        assert!(rig.receive("t/s", 1).await.len() == 1);
        let rig = rig.crash().await;
        rig.advance(secs(60)).await;
        assert!(rig.receive("t/s", 10).await.is_empty());
        assert_eq!(rig.stats("t").await.expired_total, 2);
    });
}

#[test]
fn more_than_a_piece_expires_at_once() {
    run(async {
        let rig = with(TopicPatch { retention: Patch::Set(secs(60)), ..Default::default() }).await;
        let many = |count: u32, expires_after| {
            (0..count).map(|_| NewMessage { expires_after, ..message("x") }).collect::<Vec<_>>()
        };
        assert!(rig.receive("t/s", 1).await.is_empty());
        let (expire, retain) = (limits::EXPIRE_PIECE_MAX + 1, limits::RETAIN_PIECE_MAX + 1);
        rig.broker.publish(topic("t"), many(expire, Some(secs(10)))).await.expect("published");
        rig.broker.publish(topic("t"), many(retain, None)).await.expect("published");
        rig.advance(secs(10)).await;
        assert_eq!(rig.stats("t").await.expired_total, u64::from(expire));
        rig.advance(secs(50)).await;
        let stats = rig.stats("t").await;
        assert_eq!((stats.expired_total, stats.ready), (u64::from(expire + retain), 0));
    });
}

#[test]
fn retention_ends_what_is_old_with_and_without_readers_and_takes_effect_when_changed() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("a")).await;
        rig.publish("read", message("b")).await;
        rig.publish("read", after("c", secs(30))).await;
        let got = rig.receive("read/s", 1).await;
        rig.broker.release(sub("read/s"), vec![got[0].receipt.clone()]).await.expect("released");
        rig.advance(secs(20)).await;
        for name in ["t", "read"] {
            let patch = TopicPatch { retention: Patch::Set(secs(20)), ..Default::default() };
            rig.broker.put_topic(topic(name), patch).await.expect("changed");
        }
        rig.advance(ms(0)).await;
        assert_eq!(rig.stats("t").await.expired_total, 1);
        assert_eq!(rig.stats("t").await.ready, 0);
        assert!(rig.receive("read/s", 10).await.is_empty());
        rig.advance(secs(10)).await;
        assert_eq!(bodies(&rig.receive("read/s", 10).await), ["c"], "retention counts from the due time");
        assert_eq!(rig.stats("read").await.expired_total, 1);
    });
}

#[test]
fn what_was_acked_can_be_read_again_for_as_long_as_the_topic_keeps_it() {
    run(async {
        let rig = with(TopicPatch { keep_acked: Patch::Set(secs(10)), ..Default::default() }).await;
        rig.publish("t", message("a")).await;
        let got = rig.receive("t/s", 1).await;
        rig.ack("t/s", &got).await;
        rig.advance(ms(9_999)).await;
        rig.broker.seek(sub("t/s"), SeekTo::Earliest).await.expect("moved");
        let got = rig.receive("t/s", 1).await;
        assert_eq!(bodies(&got), ["a"]);
        rig.ack("t/s", &got).await;
        rig.advance(ms(1)).await;
        rig.broker.seek(sub("t/s"), SeekTo::Earliest).await.expect("moved");
        assert!(rig.receive("t/s", 1).await.is_empty());
        assert_eq!(rig.stats("t").await.expired_total, 0);
    });
}
