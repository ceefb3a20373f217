//! Ordered subscriptions: one message of an ordering key at a time.

mod support;

use punctual_broker_api::{Broker as _, Code, NewMessage, Patch, SubscriptionPatch, TopicPatch};
use support::*;

fn of(key: &str, body: &str) -> NewMessage {
    NewMessage { ordering_key: Some(key.to_owned()), ..message(body) }
}

fn ordered(is: bool) -> SubscriptionPatch {
    SubscriptionPatch { ordered: Patch::Set(is), ..Default::default() }
}

async fn with_ordered() -> Rig {
    let rig = Rig::new().await;
    rig.broker.put_subscription(sub("t/s"), ordered(true)).await.expect("made");
    for (key, body) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2"), ("a", "a3")] {
        rig.publish("t", of(key, body)).await;
    }
    rig
}

#[test]
fn a_key_has_one_message_in_flight_and_the_next_follows_its_ack() {
    run(async {
        let rig = with_ordered().await;
        let first = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&first), ["a1", "b1"]);
        assert!(rig.receive("t/s", 10).await.is_empty());
        rig.ack("t/s", &first[..1]).await;
        let second = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&second), ["a2"]);
        rig.ack("t/s", &second).await;
        rig.ack("t/s", &first[1..]).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["b2", "a3"]);
    });
}

#[test]
fn a_retry_holds_back_its_key_alone_also_over_a_crash() {
    run(async {
        let rig = with_ordered().await;
        let first = rig.receive("t/s", 10).await;
        rig.nack("t/s", &first[0], Some(secs(60))).await;
        rig.ack("t/s", &first[1..]).await;
        let rest = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&rest), ["b2"]);
        rig.ack("t/s", &rest).await;
        let counted = rig.broker.get_subscription(sub("t/s")).await.expect("there").stats;
        assert_eq!((counted.ready, counted.retrying), (0, 1));
        let rig = rig.crash().await;
        assert!(rig.receive("t/s", 10).await.is_empty(), "neither the held back one nor what follows it");
        rig.advance(secs(60)).await;
        let again = rig.receive("t/s", 10).await;
        assert_eq!((bodies(&again), again[0].attempt), (vec!["a1".to_owned()], 2));
        rig.ack("t/s", &again).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["a2"]);
    });
}

#[test]
fn a_waiting_consumer_is_served_when_a_retry_is_due_and_when_a_key_is_free() {
    run(async {
        let rig = with_ordered().await;
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10);
        let first = consumer.next().await.expect("a batch");
        assert_eq!(bodies(&first), ["a1", "b1"]);
        rig.nack("t/s", &first[0], Some(secs(5))).await;
        rig.advance(secs(5)).await;
        let retried = consumer.next().await.expect("a batch");
        assert_eq!(bodies(&retried), ["a1"]);
        rig.ack("t/s", &retried).await;
        assert_eq!(bodies(&consumer.next().await.expect("a batch")), ["a2"]);
    });
}

#[test]
fn after_its_last_attempt_a_message_gives_way_to_the_next_of_its_key() {
    run(async {
        let rig = with_ordered().await;
        let retry = punctual_broker_api::RetryPatch { max_attempts: Patch::Set(1), ..Default::default() };
        let patch = SubscriptionPatch { retry: Patch::Set(retry), ..Default::default() };
        rig.broker.put_subscription(sub("t/s"), patch).await.expect("changed");
        let first = rig.receive("t/s", 1).await;
        rig.nack("t/s", &first[0], None).await;
        assert_eq!(bodies(&rig.receive("t/s", 1).await), ["a2"]);
        assert_eq!(bodies(&rig.receive("t.s.dead/d", 1).await), ["a1"]);
    });
}

#[test]
fn order_needs_one_priority_and_is_decided_when_the_subscription_is_made() {
    run(async {
        let rig = with_ordered().await;
        let priorities = TopicPatch { priorities: Patch::Set(2), ..Default::default() };
        let refused = rig.broker.put_topic(topic("t"), priorities.clone()).await.expect_err("ordered");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::SettingFixed, Some("priorities")));
        let refused = rig.broker.put_subscription(sub("t/s"), ordered(false)).await.expect_err("fixed");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::SettingFixed, Some("ordered")));
        rig.broker.put_topic(topic("p"), priorities).await.expect("made");
        let refused = rig.broker.put_subscription(sub("p/s"), ordered(true)).await.expect_err("priorities");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::SettingFixed, Some("ordered")));
    });
}
