//! Consumers of our client at the real broker: credit, and the three ways to end.

use std::time::Duration;

use punctual_broker_api::*;
use tokio::time::timeout;

use crate::support::{message, real, subscription, topic};

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(10);

fn subscribe(max_in_flight: u32) -> SubscribeRequest {
    SubscribeRequest { subscription: subscription("orders", "closing"), lease: None, max_in_flight }
}

fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().map(|delivery| String::from_utf8_lossy(&delivery.body).into_owned()).collect()
}

/// Collects so many deliveries.
async fn take(consumer: &mut Box<dyn Consumer>, count: usize) -> Vec<Delivery> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.extend(timeout(LONG, consumer.next()).await.expect("in time").expect("open"));
    }
    taken
}

async fn publish(client: &punctual_client::Client, bodies: &[&str]) {
    let messages = bodies.iter().map(|body| message(body, When::Now)).collect();
    for result in client.publish(topic("orders"), messages).await.expect("published") {
        result.expect("accepted");
    }
}

#[tokio::test]
async fn credit_is_never_exceeded() {
    let (_broker, served, client) = real().await;
    let mut consumer = client.subscribe(subscribe(0)).await.expect("a consumer");
    publish(&client, &["a", "b", "c", "d", "e"]).await;
    assert!(timeout(SHORT, consumer.next()).await.is_err(), "nothing without credit");
    consumer.credit(2);
    let first = take(&mut consumer, 2).await;
    assert_eq!(bodies(&first), ["a", "b"]);
    assert!(timeout(SHORT, consumer.next()).await.is_err(), "nothing beyond the credit");
    // An ack frees no credit: only the consumer grants it.
    let receipts = first.into_iter().map(|delivery| delivery.receipt).collect();
    let outcomes = client.ack(subscription("orders", "closing"), receipts).await.expect("acked");
    assert_eq!(outcomes, [AckOutcome::Acked; 2]);
    assert!(timeout(SHORT, consumer.next()).await.is_err(), "nothing beyond the credit");
    consumer.credit(1);
    consumer.credit(1);
    assert_eq!(bodies(&take(&mut consumer, 2).await), ["c", "d"]);
    assert!(timeout(SHORT, consumer.next()).await.is_err(), "nothing beyond the credit");
    consumer.close().await;
    served.close().await;
}

#[tokio::test]
async fn what_comes_due_is_delivered_then_and_not_before() {
    let (_broker, served, client) = real().await;
    let mut consumer = client.subscribe(subscribe(0)).await.expect("a consumer");
    consumer.credit(10);
    let minute = DelayMs::from_secs(60);
    client.publish(topic("orders"), vec![message("a", When::Delay(minute))]).await.expect("published");
    client.advance_clock(DelayMs::from_ms(59_999)).await.expect("advanced");
    assert!(timeout(SHORT, consumer.next()).await.is_err(), "not early");
    client.advance_clock(DelayMs::from_ms(1)).await.expect("advanced");
    assert_eq!(bodies(&take(&mut consumer, 1).await), ["a"]);
    consumer.close().await;
    served.close().await;
}

/// What a further consumer is given after the first one held `a` and `b`, acked `a`, and ended.
async fn after(end: &str) -> Vec<(String, u32)> {
    let (_broker, served, client) = real().await;
    let mut consumer = client.subscribe(subscribe(0)).await.expect("a consumer");
    publish(&client, &["a", "b"]).await;
    consumer.credit(9);
    let held = take(&mut consumer, 2).await;
    let acked = vec![held[0].receipt.clone()];
    client.ack(subscription("orders", "closing"), acked).await.expect("acked");
    match end {
        "close" => consumer.close().await,
        "stop" => {
            consumer.stop().await;
            assert_eq!(consumer.next().await, None, "no further delivery");
            // What was handed out may still be acked.
            let late = vec![held[1].receipt.clone()];
            let outcomes = client.ack(subscription("orders", "closing"), late).await.expect("acked");
            assert_eq!(outcomes, [AckOutcome::Acked]);
            publish(&client, &["c"]).await;
            consumer.close().await;
        }
        _ => drop(consumer),
    }
    let mut next = client.subscribe(subscribe(0)).await.expect("another consumer");
    next.credit(9);
    let taken = take(&mut next, 1).await;
    next.close().await;
    served.close().await;
    taken.into_iter().map(|delivery| (String::from_utf8_lossy(&delivery.body).into_owned(), delivery.attempt)).collect()
}

#[tokio::test]
async fn a_closed_consumer_gives_back_with_the_attempt_not_raised() {
    assert_eq!(after("close").await, [("b".to_owned(), 1)]);
}

#[tokio::test]
async fn a_stopped_consumer_may_still_ack() {
    assert_eq!(after("stop").await, [("c".to_owned(), 1)]);
}

#[tokio::test]
async fn a_dropped_consumer_gives_back_with_the_attempt_raised() {
    assert_eq!(after("drop").await, [("b".to_owned(), 2)]);
}

#[tokio::test]
async fn a_consumer_ends_when_the_door_stops() {
    let (_broker, served, client) = real().await;
    let mut consumer = client.subscribe(subscribe(0)).await.expect("a consumer");
    consumer.credit(1);
    let closing = tokio::spawn(served.close());
    assert_eq!(timeout(LONG, consumer.next()).await.expect("in time"), None);
    closing.await.expect("closed");
}

#[tokio::test]
async fn a_consumer_ends_when_its_subscription_is_deleted() {
    let (_broker, served, client) = real().await;
    let mut consumer = client.subscribe(subscribe(0)).await.expect("a consumer");
    consumer.credit(1);
    client.delete_subscription(subscription("orders", "closing")).await.expect("deleted");
    assert_eq!(timeout(LONG, consumer.next()).await.expect("in time"), None);
    served.close().await;
}
