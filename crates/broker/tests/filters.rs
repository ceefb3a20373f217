//! Filters, rates and breakers of subscriptions.

mod support;

use punctual_broker_api::{
    Breaker, BreakerState, Broker as _, Code, NewMessage, Patch, SubscriptionPatch, SubscriptionStats,
};
use punctual_types::limits;
use support::*;

fn tagged(body: &str, tag: &str) -> NewMessage {
    NewMessage { tag: Some(tag.to_owned()), ..message(body) }
}

fn filter(text: &str) -> SubscriptionPatch {
    SubscriptionPatch { filter: Patch::Set(text.to_owned()), ..Default::default() }
}

async fn put(rig: &Rig, patch: SubscriptionPatch) {
    rig.broker.put_subscription(sub("t/s"), patch).await.expect("accepted");
}

async fn stats(rig: &Rig) -> SubscriptionStats {
    rig.broker.get_subscription(sub("t/s")).await.expect("there").stats
}

#[test]
fn a_filtered_subscription_sees_its_messages_and_the_others_count_as_done() {
    run(async {
        let rig = Rig::new().await;
        put(&rig, filter("a || b")).await;
        rig.publish("t", tagged("1", "a")).await;
        for _ in 0..1000 {
            rig.publish("t", tagged("not", "c")).await;
        }
        rig.publish("t", tagged("2", "b")).await;
        let first = rig.receive("t/s", 1).await;
        assert_eq!(bodies(&first), ["1"]);
        let second = rig.receive("t/s", 10).await;
        assert_eq!(bodies(&second), ["2"]);
        let counted = stats(&rig).await;
        assert_eq!((counted.filtered_total, counted.delivered_total, counted.acked_total), (1000, 2, 0));
        rig.ack("t/s", &first).await;
        rig.ack("t/s", &second).await;
        let rig = rig.crash().await;
        let settings = rig.broker.get_subscription(sub("t/s")).await.expect("there").settings;
        assert_eq!(settings.filter.as_deref(), Some("a || b"));
        rig.publish("t", tagged("3", "c")).await;
        rig.publish("t", tagged("4", "a")).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["4"]);
        put(&rig, SubscriptionPatch { filter: Patch::Reset, ..Default::default() }).await;
        rig.publish("t", tagged("5", "c")).await;
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["5"], "what was passed over before stays so");
    });
}

#[test]
fn headers_are_filtered_too() {
    run(async {
        let rig = Rig::new().await;
        put(&rig, filter("header.region = 'eu' AND header.tier != 'trial'")).await;
        for (body, headers) in [("1", vec![("region", "eu")]), ("2", vec![("region", "us")]), ("3", vec![])] {
            let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            rig.publish("t", NewMessage { headers, ..message(body) }).await;
        }
        assert_eq!(bodies(&rig.receive("t/s", 10).await), ["1"]);
    });
}

#[test]
fn a_filter_that_cannot_be_read_is_refused_with_its_place_and_makes_nothing() {
    run(async {
        let rig = Rig::new().await;
        let refused = rig.broker.put_subscription(sub("t/s"), filter("a || b c")).await.expect_err("refused");
        assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidFilter, Some("filter")));
        assert!(refused.message.contains("character 8"), "{}", refused.message);
        assert!(rig.broker.get_topic(topic("t")).await.is_err());
    });
}

#[test]
fn a_rate_spreads_deliveries_and_their_partitions_share_it() {
    run(async {
        let rig = Rig::new().await;
        put(&rig, SubscriptionPatch { max_rate: Patch::Set(10), ..Default::default() }).await;
        for n in 0..30 {
            rig.publish("t", message(&n.to_string())).await;
        }
        let mut counts = Vec::new();
        for _ in 0..2 {
            let mut count = 0;
            for _ in 0..100 {
                count += rig.receive("t/s", 10).await.len();
                rig.advance(ms(10)).await;
            }
            counts.push(count);
        }
        assert_eq!(counts, [10, 10]);
    });
}

#[test]
fn a_waiting_consumer_is_served_when_the_rate_allows_the_next() {
    run(async {
        let rig = Rig::new().await;
        put(&rig, SubscriptionPatch { max_rate: Patch::Set(1), ..Default::default() }).await;
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10);
        for n in 0..3 {
            rig.publish("t", message(&n.to_string())).await;
        }
        for n in 0..3 {
            let batch = consumer.next().await.expect("a batch");
            assert_eq!((bodies(&batch), batch[0].delivered_at), (vec![n.to_string()], at(n * 1000)));
            rig.advance(ms(1000)).await;
        }
    });
}

#[test]
fn a_breaker_stops_offers_and_probes_with_one_message() {
    run(async {
        let rig = Rig::new().await;
        let breaker = Breaker { failures: 2, window: secs(10), pause: secs(60) };
        put(&rig, SubscriptionPatch { breaker: Patch::Set(breaker), ..Default::default() }).await;
        for n in 0..4 {
            rig.publish("t", message(&n.to_string())).await;
        }
        assert_eq!(stats(&rig).await.breaker, Some(BreakerState::Closed));
        let held = rig.receive("t/s", 2).await;
        for delivery in &held {
            rig.nack("t/s", delivery, Some(secs(3600))).await;
        }
        assert_eq!(stats(&rig).await.breaker, Some(BreakerState::Open));
        assert!(rig.receive("t/s", 10).await.is_empty());
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10);
        rig.advance(secs(60)).await;
        let probe = consumer.next().await.expect("the probe");
        assert_eq!((bodies(&probe), stats(&rig).await.breaker), (vec!["2".to_owned()], Some(BreakerState::Probing)));
        assert!(rig.receive("t/s", 10).await.is_empty(), "one at a time");
        rig.ack("t/s", &probe).await;
        assert_eq!(bodies(&consumer.next().await.expect("the rest")), ["3"]);
        assert_eq!(stats(&rig).await.breaker, Some(BreakerState::Closed));
    });
}

#[test]
fn rates_and_breakers_outside_their_ranges_are_refused() {
    run(async {
        let rig = Rig::new().await;
        let rate = |rate| SubscriptionPatch { max_rate: Patch::Set(rate), ..Default::default() };
        let breaker = |failures, window, pause| {
            let breaker = Breaker { failures, window, pause };
            SubscriptionPatch { breaker: Patch::Set(breaker), ..Default::default() }
        };
        let longest = limits::BREAKER_TIME_MAX;
        let over = ms(longest.ms() + 1);
        for (patch, field) in [
            (rate(0), "max_rate"),
            (rate(limits::RATE_MAX + 1), "max_rate"),
            (breaker(0, secs(1), secs(1)), "breaker.failures"),
            (breaker(limits::BREAKER_FAILURES_MAX + 1, secs(1), secs(1)), "breaker.failures"),
            (breaker(1, ms(0), secs(1)), "breaker.window"),
            (breaker(1, over, secs(1)), "breaker.window"),
            (breaker(1, secs(1), ms(0)), "breaker.pause"),
            (breaker(1, secs(1), over), "breaker.pause"),
        ] {
            let refused = rig.broker.put_subscription(sub("t/s"), patch).await.expect_err(field);
            assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidField, Some(field)));
        }
        put(&rig, rate(limits::RATE_MAX)).await;
        put(&rig, breaker(limits::BREAKER_FAILURES_MAX, longest, longest)).await;
        put(&rig, breaker(1, ms(1), ms(1))).await;
    });
}
