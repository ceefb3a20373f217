//! From publish to ack.

mod support;

use punctual_broker_api::{AckOutcome, Broker as _, NackOutcome, NewMessage, SubscriptionPatch, When};
use support::*;

#[test]
fn an_immediate_message_is_received_at_once() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", message("now")).await;
        let got = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&got), ["now"]);
        assert_eq!(got[0].id, published.id);
        assert_eq!((got[0].attempt, got[0].deliver_at, got[0].published_at), (1, at(0), at(0)));
        assert_eq!(rig.ack("t/s", &got).await, [AckOutcome::Acked]);
        assert!(rig.receive("t/s", 10).await.is_empty());
    });
}

#[test]
fn a_delayed_message_waits_to_the_millisecond_and_is_not_late() {
    run(async {
        let rig = Rig::new().await;
        let published = rig.publish("t", after("later", secs(900))).await;
        assert_eq!(published.deliver_at, at(900_000));
        rig.advance(ms(899_999)).await;
        assert!(rig.receive("t/s", 10).await.is_empty());
        rig.advance(ms(1)).await;
        let got = rig.receive_one("t/s").await;
        assert_eq!((got.lateness_ms, got.waited_ms, got.delivered_at), (0, 0, at(900_000)));
    });
}

#[test]
fn a_later_message_with_a_shorter_delay_comes_first() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", after("a", secs(50))).await;
        rig.publish("t", after("b", secs(3))).await;
        rig.advance(secs(3)).await;
        let first = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&first), ["b"]);
        rig.ack("t/s", &first).await;
        rig.advance(secs(47)).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["a"]);
    });
}

#[test]
fn a_waiting_consumer_is_woken_by_the_message_alone() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", after("x", secs(5))).await;
        let mut waiting = receive("t/s", 1);
        waiting.wait = secs(60);
        let waiter = rig.broker.clone();
        let got = tokio::spawn(async move { waiter.receive(waiting).await });
        tokio::task::yield_now().await;
        rig.advance(secs(5)).await;
        let got = got.await.expect("no panic").expect("received");
        assert_eq!(bodies(&got), ["x"]);
        assert_eq!(got[0].lateness_ms, 0);
    });
}

#[test]
fn every_subscription_gets_its_own_delivery_of_one_message() {
    run(async {
        let rig = Rig::new().await;
        for subscription in ["t/a", "t/b"] {
            rig.broker.put_subscription(sub(subscription), SubscriptionPatch::default()).await.expect("made");
        }
        rig.publish("t", message("x")).await;
        let a = rig.receive("t/a", 10).await;
        assert_eq!(bodies(&a), ["x"]);
        rig.ack("t/a", &a).await;
        let b = rig.receive("t/b", 10).await;
        assert_eq!(bodies(&b), ["x"]);
        assert_eq!(
            rig.broker.ack(sub("t/a"), vec![b[0].receipt.clone()]).await.expect("answered"),
            [AckOutcome::Invalid]
        );
    });
}

#[test]
fn a_lease_that_ends_gives_the_message_to_the_next_with_the_attempt_raised() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("x")).await;
        let first = rig.receive_one("t/s").await;
        assert_eq!(first.lease_expires_at, at(30_000));
        rig.advance(ms(29_999)).await;
        assert!(rig.receive("t/s", 1).await.is_empty());
        rig.advance(ms(1)).await;
        let second = rig.receive_one("t/s").await;
        assert_eq!((second.attempt, second.id.clone()), (2, first.id.clone()));
        assert_eq!(rig.ack("t/s", &[first]).await, [AckOutcome::LeaseLost]);
        assert_eq!(rig.ack("t/s", std::slice::from_ref(&second)).await, [AckOutcome::Acked]);
        assert_eq!(rig.ack("t/s", &[second]).await, [AckOutcome::Acked], "a second ack of an acked receipt");
    });
}

#[test]
fn a_nack_is_tried_again_and_after_the_last_attempt_dead_lettered_once() {
    run(async {
        let rig = Rig::new().await;
        let retry =
            punctual_broker_api::RetryPatch { max_attempts: punctual_broker_api::Patch::Set(2), ..Default::default() };
        let patch = SubscriptionPatch { retry: punctual_broker_api::Patch::Set(retry), ..Default::default() };
        rig.broker.put_subscription(sub("t/s"), patch).await.expect("made");
        let published = rig.publish("t", NewMessage { key: Some("k".into()), ..message("x") }).await;
        let first = rig.receive_one("t/s").await;
        assert_eq!(rig.nack("t/s", &first, Some(secs(7))).await, NackOutcome::Retry);
        assert_eq!(rig.stats("t").await.retrying, 1);
        assert!(rig.receive("t/s", 1).await.is_empty());
        rig.advance(secs(7)).await;
        let second = rig.receive_one("t/s").await;
        assert_eq!((second.attempt, &second.id, second.lateness_ms), (2, &published.id, 0));
        assert_eq!(rig.nack("t/s", &first, None).await, NackOutcome::LeaseLost);
        assert_eq!(rig.nack("t/s", &second, None).await, NackOutcome::DeadLettered);
        assert!(rig.receive("t/s", 1).await.is_empty());
        let dead = rig.receive_one("t.s.dead/watch").await;
        let history = dead.dead_letter.expect("a history");
        assert_eq!((dead.attempt, &dead.id), (1, &published.id));
        assert_eq!((history.topic.as_str(), history.subscription.as_str(), history.attempts), ("t", "s", 2));
        assert_eq!((history.last_error.as_deref(), history.first_delivered_at), (Some("boom"), Some(at(0))));
        assert!(rig.receive("t.s.dead/watch", 1).await.is_empty());
        assert_eq!(rig.stats("t").await.dead, 1);
        let view = rig.broker.get(topic("t.s.dead"), rig.id(&published.id)).await.expect("found by its own id");
        assert_eq!(view.key.as_deref(), Some("k"));
    });
}

#[test]
fn released_messages_are_ready_again_and_their_attempt_is_not_raised() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("x")).await;
        let first = rig.receive_one("t/s").await;
        rig.broker.release(sub("t/s"), vec![first.receipt.clone()]).await.expect("answered");
        let second = rig.receive_one("t/s").await;
        assert_eq!(second.attempt, 1);
        assert_ne!(first.receipt, second.receipt);
        assert_eq!(rig.ack("t/s", &[first]).await, [AckOutcome::LeaseLost]);
    });
}

#[test]
fn a_stream_is_given_no_more_than_its_credit_and_gives_back_what_it_holds_when_it_closes() {
    run(async {
        let rig = Rig::new().await;
        for n in 0..10 {
            rig.publish("t", message(&n.to_string())).await;
        }
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(3);
        let mut got = Vec::new();
        while got.len() < 3 {
            got.extend(consumer.next().await.expect("open"));
        }
        assert_eq!(bodies(&got), ["0", "1", "2"]);
        assert_eq!(rig.receive("t/s", 10).await.len(), 7);
        rig.ack("t/s", &got[..1]).await;
        consumer.close().await;
        let back = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&back), ["1", "2"]);
        assert!(back.iter().all(|it| it.attempt == 1));
    });
}

#[test]
fn a_dropped_stream_counts_as_a_failed_attempt() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", message("x")).await;
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(1);
        assert_eq!(consumer.next().await.expect("open").len(), 1);
        drop(consumer);
        assert_eq!(rig.receive_one("t/s").await.attempt, 2);
    });
}

#[test]
fn a_receive_call_that_goes_away_takes_nothing_with_it() {
    run(async {
        let rig = Rig::new().await;
        rig.broker.put_subscription(sub("t/s"), SubscriptionPatch::default()).await.expect("made");
        let mut waiting = receive("t/s", 1);
        waiting.wait = secs(60);
        let broker = rig.broker.clone();
        let call = tokio::spawn(async move { broker.receive(waiting).await });
        tokio::task::yield_now().await;
        call.abort();
        let _ = call.await;
        rig.publish("t", message("x")).await;
        assert_eq!(rig.receive_one("t/s").await.attempt, 1);
    });
}

#[test]
fn in_flight_is_bounded_over_all_consumers_and_room_is_used_at_once() {
    run(async {
        let rig = Rig::new().await;
        let patch = SubscriptionPatch { max_in_flight: punctual_broker_api::Patch::Set(2), ..Default::default() };
        rig.broker.put_subscription(sub("t/s"), patch).await.expect("made");
        for n in 0..4 {
            rig.publish("t", message(&n.to_string())).await;
        }
        let held = rig.receive("t/s", 10).await;
        assert_eq!(held.len(), 2);
        assert!(rig.receive("t/s", 10).await.is_empty());
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10);
        rig.ack("t/s", &held[..1]).await;
        assert_eq!(bodies(&consumer.next().await.expect("open")), ["2"]);
    });
}

#[test]
fn a_paused_subscription_offers_nothing_until_it_is_resumed() {
    run(async {
        let rig = Rig::new().await;
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10);
        rig.broker.set_paused(sub("t/s"), true).await.expect("paused");
        rig.publish("t", message("x")).await;
        assert!(rig.receive("t/s", 1).await.is_empty());
        rig.broker.set_paused(sub("t/s"), false).await.expect("resumed");
        assert_eq!(bodies(&consumer.next().await.expect("open")), ["x"]);
    });
}

#[test]
fn consumers_of_many_partitions_get_everything_once() {
    run(async {
        let rig = Rig::new().await;
        let patch =
            punctual_broker_api::TopicPatch { partitions: punctual_broker_api::Patch::Set(8), ..Default::default() };
        rig.broker.put_topic(topic("t"), patch).await.expect("made");
        let batch: Vec<_> = (0..100).map(|n| after(&n.to_string(), secs(n % 3))).collect();
        for result in rig.broker.publish(topic("t"), batch).await.expect("answered") {
            result.expect("accepted");
        }
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(1000);
        rig.advance(secs(3)).await;
        let mut got = Vec::new();
        while got.len() < 100 {
            got.extend(consumer.next().await.expect("open"));
        }
        let mut numbers: Vec<u32> = bodies(&got).iter().map(|body| body.parse().expect("a number")).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert!(rig.ack("t/s", &got).await.iter().all(|outcome| *outcome == AckOutcome::Acked));
        let stats = rig.stats("t").await;
        assert_eq!((stats.scheduled, stats.ready, stats.leased, stats.acked_total), (0, 0, 0, 100));
    });
}

#[test]
fn a_time_in_the_past_is_now_and_a_delay_level_is_looked_up() {
    run(async {
        let rig = Rig::new().await;
        rig.advance(secs(10)).await;
        let past = rig.publish("t", NewMessage { when: When::At(at(1)), ..message("past") }).await;
        assert_eq!(past.deliver_at, at(10_000));
        let level = rig.publish("t", NewMessage { when: When::Level(3), ..message("level") }).await;
        assert_eq!(level.deliver_at, at(20_000));
        for level in [0, 19] {
            let refused = rig.try_publish("t", NewMessage { when: When::Level(level), ..message("none") }).await;
            assert_eq!(refused.expect_err("outside the table").code.slug(), "unknown_delay_level");
        }
    });
}

#[test]
fn backlogs_larger_than_any_buffer_come_out_in_order() {
    run(async {
        let rig = Rig::new().await;
        for chunk in 0..12u32 {
            let batch = (0..1000).map(|n| after(&(chunk * 1000 + n).to_string(), secs(60))).collect();
            rig.broker.publish(topic("t"), batch).await.expect("answered");
        }
        rig.advance(secs(60)).await;
        let mut expected = 0;
        while expected < 12_000 {
            let got = rig.receive("t/s", 1000).await;
            assert!(!got.is_empty(), "stopped at {expected}");
            for body in bodies(&got) {
                assert_eq!(body, expected.to_string());
                expected += 1;
            }
            rig.ack("t/s", &got).await;
        }
        assert!(rig.receive("t/s", 1).await.is_empty());
    });
}
