//! Dead letters: to the topic that was named, wherever it lies.

mod support;

use punctual_broker_api::{
    Broker as _, Code, NackOutcome, NackRequest, Patch, RetryPatch, SubscriptionPatch, TopicPatch,
};
use support::*;

fn dead_to(name: &str) -> SubscriptionPatch {
    let retry = RetryPatch { max_attempts: Patch::Set(1), ..Default::default() };
    SubscriptionPatch {
        retry: Patch::Set(retry),
        dead_letter_topic: Patch::Set(name.to_owned()),
        ..SubscriptionPatch::default()
    }
}

/// Topics get numbers one after the other, and so lie on the shards one after the other.
async fn topics(rig: &Rig, names: &[&str]) {
    for name in names {
        rig.broker.put_topic(topic(name), TopicPatch::default()).await.expect("made");
    }
}

#[test]
fn a_dead_letter_topic_may_lie_on_any_shard() {
    run(async {
        let rig = Rig::new().await;
        let names = ["a", "b", "c", "d", "e"];
        topics(&rig, &names).await;
        rig.broker.put_subscription(sub("t/s"), SubscriptionPatch::default()).await.expect("made");
        for name in names {
            rig.broker.put_subscription(sub("t/s"), dead_to(name)).await.expect("any topic will do");
            rig.publish("t", message(name)).await;
            let got = rig.receive_one("t/s").await;
            assert_eq!(rig.nack("t/s", &got, None).await, NackOutcome::DeadLettered);
            // Nothing comes due, but what is on its way arrives before the clock answers.
            rig.advance(ms(0)).await;
            let dead = rig.receive_one(&format!("{name}/watch")).await;
            assert_eq!((dead.id.clone(), dead.body.as_ref()), (got.id.clone(), name.as_bytes()));
            assert_eq!(dead.dead_letter.as_ref().expect("a history").topic, "t");
            assert!(rig.receive(&format!("{name}/watch"), 10).await.is_empty(), "once");
            let view = rig.broker.get(topic(name), rig.id(&got.id)).await.expect("found by its own id");
            assert_eq!(view.id, got.id);
        }
    });
}

#[test]
fn what_is_on_its_way_survives_a_crash_and_arrives_once() {
    run(async {
        let mut rig = Rig::new().await;
        topics(&rig, &["far"]).await;
        rig.broker.put_subscription(sub("t/s"), dead_to("far")).await.expect("made");
        rig.broker.put_subscription(sub("far/watch"), SubscriptionPatch::default()).await.expect("made");
        for round in 0..20 {
            rig.publish("t", message(&round.to_string())).await;
            let got = rig.receive_one("t/s").await;
            // At once after the answer: the transfer may have left, arrived, or neither.
            rig.nack("t/s", &got, None).await;
            rig = rig.crash().await;
        }
        rig.advance(ms(0)).await;
        let dead = rig.receive("far/watch", 100).await;
        assert_eq!(bodies(&dead), (0..20).map(|round| round.to_string()).collect::<Vec<_>>());
    });
}

#[test]
fn letters_for_a_topic_that_is_deleted_meanwhile_harm_nobody() {
    run(async {
        let rig = Rig::new().await;
        topics(&rig, &["far"]).await;
        rig.broker.put_subscription(sub("t/s"), dead_to("far")).await.expect("made");
        rig.publish("t", message("x")).await;
        let got = rig.receive_one("t/s").await;
        let (_, deleted) = tokio::join!(rig.nack("t/s", &got, None), rig.broker.delete_topic(topic("far")));
        deleted.expect("deleted");
        rig.advance(ms(0)).await;
        // Its place was taken by a fresh topic of the name, and the next goes there.
        rig.publish("t", message("y")).await;
        let got = rig.receive_one("t/s").await;
        rig.nack("t/s", &got, None).await;
        rig.advance(ms(0)).await;
        let dead = rig.receive("far/watch", 10).await;
        assert_eq!(bodies(&dead).last().map(String::as_str), Some("y"));
    });
}

#[test]
fn dead_letters_do_not_go_round_by_themselves() {
    run(async {
        let rig = Rig::new().await;
        let refused = rig.broker.put_subscription(sub("t/s"), dead_to("t")).await.expect_err("to itself");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidField, Some("dead_letter_topic")));
        topics(&rig, &["t", "u"]).await;
        rig.broker.put_subscription(sub("t/s"), dead_to("u")).await.expect("made");
        rig.broker.put_subscription(sub("u/s"), dead_to("t")).await.expect("a circle");
        rig.publish("t", message("x")).await;
        for (from, to) in [("t/s", "u/s"), ("u/s", "t/s"), ("t/s", "u/s")] {
            let got = rig.receive_one(from).await;
            assert_eq!(rig.nack(from, &got, None).await, NackOutcome::DeadLettered);
            rig.advance(secs(3600)).await;
            assert!(rig.receive(from, 10).await.is_empty(), "it stays until somebody fails at it");
            let stats = (rig.stats("t").await.published_total, rig.stats("u").await.published_total);
            let waiting = rig.receive_one(to).await;
            rig.broker.release(sub(to), vec![waiting.receipt]).await.expect("released");
            assert!(stats.0 + stats.1 <= 4);
        }
    });
}

/// As `shard/limits.rs` has it.
const TRANSFERS_MAX: usize = 1000;

#[test]
fn more_letters_than_go_at_once_all_arrive_in_their_order() {
    run(async {
        let rig = Rig::new().await;
        topics(&rig, &["far"]).await;
        rig.broker.put_subscription(sub("t/s"), dead_to("far")).await.expect("made");
        rig.broker.put_subscription(sub("far/watch"), SubscriptionPatch::default()).await.expect("made");
        let sent: Vec<String> = (0..=TRANSFERS_MAX).map(|number| number.to_string()).collect();
        rig.broker.publish(topic("t"), sent.iter().map(|body| message(body)).collect()).await.expect("published");
        let mut receipts = Vec::new();
        while receipts.len() < sent.len() {
            receipts.extend(rig.receive("t/s", 1000).await.into_iter().map(|delivery| delivery.receipt));
        }
        let request = NackRequest { receipts, delay: None, error: None };
        let outcomes = rig.broker.nack(sub("t/s"), request).await.expect("answered");
        assert!(outcomes.iter().all(|outcome| *outcome == NackOutcome::DeadLettered));
        rig.advance(ms(0)).await;
        let mut arrived = rig.receive("far/watch", 1000).await;
        arrived.extend(rig.receive("far/watch", 1000).await);
        assert_eq!(bodies(&arrived), sent);
    });
}
