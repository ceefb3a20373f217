//! Those who wait: streams, credit, order, and doing nothing while nothing happens.

mod support;

use punctual_broker_api::Broker as _;
use support::*;

#[test]
fn a_consumer_ends_when_its_subscription_or_its_topic_is_deleted() {
    run(async {
        let rig = Rig::new().await;
        let mut of_subscription = rig.broker.subscribe(subscribe("t/a")).await.expect("subscribed");
        let mut of_topic = rig.broker.subscribe(subscribe("t/b")).await.expect("subscribed");
        rig.broker.delete_subscription(sub("t/a")).await.expect("deleted");
        assert!(of_subscription.next().await.is_none());
        rig.publish("t", message("x")).await;
        of_topic.credit(1);
        assert_eq!(bodies(&of_topic.next().await.expect("still open")), ["x"]);
        rig.broker.delete_topic(topic("t")).await.expect("deleted");
        assert!(of_topic.next().await.is_none());
    });
}

#[test]
fn publishes_are_taken_in_the_order_they_came_also_while_their_topic_is_made() {
    run(async {
        let rig = Rig::new().await;
        // Asked in order, as a pipelined stream does: each is polled once before the next begins.
        let mut calls = Vec::new();
        for n in 0..10 {
            let mut call = Box::pin(rig.broker.publish(topic("t"), vec![message(&n.to_string())]));
            let once = &mut std::task::Context::from_waker(std::task::Waker::noop());
            assert!(call.as_mut().poll(once).is_pending());
            calls.push(call);
            // The topic is there for those that come now, while the first has not gone on yet.
            while rig.broker.get_topic(topic("t")).await.is_err() {
                tokio::task::yield_now().await;
            }
        }
        for call in futures_util::future::join_all(calls).await {
            call.expect("answered").pop().expect("one").expect("accepted");
        }
        let expected: Vec<_> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(bodies(&rig.receive("t/s", 100).await), expected);
    });
}

#[test]
fn a_consumer_that_reads_late_gets_everything_its_credit_allows() {
    run(async {
        let rig = Rig::new().await;
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10_000);
        // Each leaves by itself, so that far more batches wait than a feed holds.
        for n in 0..3000 {
            rig.publish("t", message(&n.to_string())).await;
        }
        let mut got = 0;
        while got < 3000 {
            got += consumer.next().await.expect("open").len();
        }
    });
}

fn metrics_page(rig: &Rig) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    rig.broker.register_metrics(&mut registry);
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, &registry).expect("a page");
    page
}

/// Turns that the workers have taken, from the metrics page.
fn turns(rig: &Rig) -> u64 {
    let page = metrics_page(rig);
    let line = page.lines().find(|line| line.starts_with("shard_turns_total ")).expect("counted");
    line.rsplit(' ').next().and_then(|count| count.parse().ok()).expect("a number")
}

#[test]
fn a_broker_with_nothing_to_do_takes_no_turns() {
    run(async {
        let rig = Rig::new().await;
        rig.publish("t", after("x", secs(1000))).await;
        let consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(1);
        rig.advance(secs(500)).await;
        let before = turns(&rig);
        let nothing = tokio::time::timeout(std::time::Duration::from_millis(200), std::future::pending::<()>());
        nothing.await.expect_err("never ready");
        let taken = turns(&rig) - before;
        assert!(taken <= 10, "{taken} turns were taken while nothing happened");
    });
}

#[test]
fn a_receive_call_stays_within_its_bytes_but_for_the_first_message() {
    run(async {
        let rig = Rig::new().await;
        for _ in 0..4 {
            rig.publish("t", message(&"x".repeat(100))).await;
        }
        let mut small = receive("t/s", 10);
        small.max_bytes = 250;
        assert_eq!(
            rig.broker.receive(small.clone()).await.expect("received").len(),
            1,
            "a record is more than its body"
        );
        small.max_bytes = 320;
        assert_eq!(rig.broker.receive(small.clone()).await.expect("received").len(), 2);
        small.max_bytes = 1;
        assert_eq!(rig.broker.receive(small).await.expect("received").len(), 1);
    });
}

/// As `shard/limits.rs` has it.
const FEED_BYTES_MAX: usize = 8 << 20;

#[test]
fn a_consumer_that_does_not_read_holds_no_more_than_its_feed_whatever_its_credit() {
    run(async {
        const BODY: usize = 1 << 20;
        let rig = Rig::new().await;
        let mut consumer = rig.broker.subscribe(subscribe("t/s")).await.expect("subscribed");
        consumer.credit(10_000);
        for _ in 0..40 {
            rig.publish("t", message(&"x".repeat(BODY))).await;
        }
        rig.broker.get_topic(topic("t")).await.expect("a topic");
        let leased = rig.stats("t").await.leased;
        // What was on its way when the feed was not yet full may come on top: one batch of 4 MiB.
        let most = (FEED_BYTES_MAX / BODY + 4) as u64;
        assert!((1..=most).contains(&leased), "{leased} of 40 wait at the consumer");
        let mut got = 0;
        while got < 40 {
            got += consumer.next().await.expect("open").len();
        }
    });
}

#[test]
fn a_group_that_is_stuck_shows_on_the_metrics_page() {
    run(async {
        let rig = Rig::new().await;
        rig.receive("t/quick", 1).await;
        rig.receive("t/stuck", 1).await;
        for _ in 0..3 {
            rig.publish("t", message("x")).await;
        }
        let got = rig.receive("t/quick", 10).await;
        rig.ack("t/quick", &got[..2]).await;
        let page = metrics_page(&rig);
        for line in [
            r#"subscription_ready{namespace="default",topic="t",subscription="stuck"} 3"#,
            r#"subscription_ready{namespace="default",topic="t",subscription="quick"} 0"#,
            r#"subscription_leased{namespace="default",topic="t",subscription="quick"} 1"#,
            r#"messages_acked_total{namespace="default",topic="t"} 2"#,
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
    });
}
