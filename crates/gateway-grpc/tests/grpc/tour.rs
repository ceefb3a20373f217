//! Every call of the trait, by the client of ours, through the door, to the real broker and back.

use std::time::Duration;

use punctual_broker_api::*;

use crate::support::{message, real, subscription, topic};

fn by_key(key: &str) -> Handle {
    Handle::Key { key: key.to_owned(), ordering_key: None }
}

fn receive(name: &str, sub: &str) -> ReceiveRequest {
    ReceiveRequest {
        subscription: subscription(name, sub),
        max: 100,
        max_bytes: 1 << 20,
        wait: DelayMs::ZERO,
        lease: None,
    }
}

const MINUTE: DelayMs = DelayMs::from_secs(60);

#[tokio::test]
async fn publishing_and_consuming() {
    let (_broker, served, client) = real().await;
    let orders = topic("orders");
    let sub = subscription("orders", "closing");
    let full = NewMessage {
        body: vec![0, 159, 146, 150].into(),
        when: When::Delay(MINUTE),
        key: Some("42".to_owned()),
        on_conflict: OnConflict::Reject,
        dedup_id: Some("d-42".to_owned()),
        ordering_key: Some("customer-7".to_owned()),
        tag: Some("paid".to_owned()),
        headers: vec![("z".to_owned(), "1".to_owned()), ("a".to_owned(), "ü".to_owned())],
        priority: 0,
        expires_after: None,
        prepare: None,
    };
    let again = NewMessage { body: "other".into(), ..full.clone() };
    let results = client.publish(orders.clone(), vec![full.clone(), again]).await.expect("published");
    let first = results[0].clone().expect("accepted");
    assert_eq!(first.status, PublishStatus::Accepted);
    let duplicate = results[1].clone().expect("duplicate");
    assert_eq!((duplicate.status, &duplicate.id), (PublishStatus::Duplicate, &first.id));

    assert_eq!(client.receive(receive("orders", "closing")).await.expect("none yet"), []);
    let clock = client.advance_clock(MINUTE).await.expect("a manual clock");
    assert_eq!(clock.mode, ClockMode::Manual);
    let deliveries = client.receive(receive("orders", "closing")).await.expect("one");
    let [delivery] = deliveries.as_slice() else { panic!("{deliveries:?}") };
    assert_eq!(delivery.id, first.id);
    assert_eq!(delivery.body, full.body);
    assert_eq!(delivery.headers, full.headers);
    assert_eq!((&delivery.key, &delivery.tag), (&full.key, &full.tag));
    assert_eq!(delivery.ordering_key, full.ordering_key);
    assert_eq!((delivery.attempt, &*delivery.topic), (1, "orders"));
    assert_eq!(delivery.deliver_at, first.deliver_at);
    assert!(delivery.delivered_at >= delivery.deliver_at, "never early");

    let receipt = vec![delivery.receipt.clone()];
    let extended = client.extend(sub.clone(), receipt.clone(), DelayMs::from_secs(90)).await.expect("extended");
    assert_eq!(
        extended,
        [ExtendOutcome::Extended { lease_expires_at: clock.now.saturating_add(DelayMs::from_secs(90)) }]
    );
    assert_eq!(client.release(sub.clone(), receipt.clone()).await.expect("released"), [ReleaseOutcome::Released]);
    assert_eq!(client.ack(sub.clone(), receipt).await.expect("late"), [AckOutcome::LeaseLost]);

    let second = client.receive(receive("orders", "closing")).await.expect("again").remove(0);
    assert_eq!((second.attempt, &second.id), (1, &first.id), "a release does not raise the attempt");
    let nack = NackRequest { receipts: vec![second.receipt], delay: Some(MINUTE), error: Some("no stock".to_owned()) };
    assert_eq!(client.nack(sub.clone(), nack).await.expect("nacked"), [NackOutcome::Retry]);
    client.advance_clock(MINUTE).await.expect("advanced");
    let third = client.receive(receive("orders", "closing")).await.expect("again").remove(0);
    assert_eq!((third.attempt, &third.id, &third.body), (2, &first.id, &full.body));
    let receipts = vec![third.receipt.clone(), Receipt::new("made-up"), third.receipt];
    let outcomes = client.ack(sub, receipts).await.expect("acked");
    assert_eq!(outcomes, [AckOutcome::Acked, AckOutcome::Invalid, AckOutcome::Acked]);
    served.close().await;
}

#[tokio::test]
async fn looking_at_and_changing_what_is_scheduled() {
    let (_broker, served, client) = real().await;
    let orders = topic("orders");
    let now = client.clock().await.expect("a clock").now;
    let keyed = |key: &str, minutes: u64| NewMessage {
        key: Some(key.to_owned()),
        ..message(key, When::At(now.saturating_add(DelayMs::from_secs(60 * minutes))))
    };
    let batch = (1..=6).map(|n| keyed(&format!("k{n}"), n)).collect();
    let published = client.publish(orders.clone(), batch).await.expect("published");
    let ids: Vec<_> = published.into_iter().map(|result| result.expect("accepted").id).collect();

    let view = client.get(orders.clone(), by_key("k1")).await.expect("there");
    assert_eq!((&view.id, view.state, view.body.as_deref()), (&ids[0], MessageState::Scheduled, Some(&b"k1"[..])));
    assert_eq!(client.get(orders.clone(), Handle::Id(ids[0].clone())).await.expect("there"), view);

    let mut request = ListRequest {
        topic: orders.clone(),
        range: TimeRange { from: Some(view.deliver_at), to: None },
        key_prefix: Some("k".to_owned()),
        limit: 4,
        cursor: None,
        with_body: false,
    };
    let mut listed = Vec::new();
    loop {
        let page = client.list(request.clone()).await.expect("a page");
        assert!(page.items.len() <= 4 && page.items.iter().all(|view| view.body.is_none()));
        listed.extend(page.items.into_iter().map(|view| view.id));
        request.cursor = page.next_cursor;
        if request.cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, ids);

    let timeline = TimelineRequest { topic: orders.clone(), range: TimeRange::default(), bucket: MINUTE };
    let buckets = client.timeline(timeline).await.expect("buckets");
    assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 6);

    let outcome = client.cancel(orders.clone(), by_key("k1")).await.expect("an outcome");
    assert_eq!(outcome, CancelOutcome::Cancelled);
    let unknown = Handle::Id(MessageId::new("nobody"));
    assert_eq!(client.cancel(orders.clone(), unknown).await.expect("an outcome"), CancelOutcome::NotFound);
    let later = now.saturating_add(DelayMs::from_secs(3600));
    let outcome = client.reschedule(orders.clone(), by_key("k2"), When::At(later)).await.expect("an outcome");
    assert_eq!(outcome, RescheduleOutcome::Rescheduled { deliver_at: later });
    let outcome = client.reschedule(orders.clone(), by_key("k3"), When::Now).await.expect("an outcome");
    assert_eq!(outcome, RescheduleOutcome::Rescheduled { deliver_at: now });
    let outcome = client.deliver_now(orders.clone(), by_key("k4")).await.expect("an outcome");
    assert_eq!(outcome, DeliverNowOutcome::DeliveredNow);
    let five = now.saturating_add(DelayMs::from_secs(300));
    let range = TimeRange { from: Some(five), to: Some(five.saturating_add(DelayMs::from_ms(1))) };
    assert_eq!(client.cancel_range(orders.clone(), range).await.expect("cancelled"), 1);
    assert_eq!(client.cancel_range(orders.clone(), TimeRange::default()).await.expect("cancelled"), 2);
    let due = client.receive(receive("orders", "all")).await.expect("two");
    let mut due: Vec<_> = due.into_iter().map(|delivery| delivery.id).collect();
    due.sort_by_key(|id| ids.iter().position(|known| known == id));
    assert_eq!(due, ids[2..4]);
    assert_eq!(client.cancel(orders, Handle::Id(ids[2].clone())).await.expect("an outcome"), CancelOutcome::TooLate);
    served.close().await;
}

#[tokio::test]
async fn administration() {
    let (_broker, served, client) = real().await;
    let orders = topic("orders");
    let patch = TopicPatch { dedup_window: Patch::Set(MINUTE), ..TopicPatch::default() };
    let put = client.put_topic(orders.clone(), patch).await.expect("made");
    assert!(put.created);
    assert_eq!(put.object.settings, TopicSettings { dedup_window: MINUTE, ..TopicSettings::default() });
    let put = client.put_topic(orders.clone(), TopicPatch::default()).await.expect("kept");
    assert_eq!((put.created, put.object.settings.dedup_window), (false, MINUTE));
    let patch = TopicPatch { dedup_window: Patch::Reset, ..TopicPatch::default() };
    let put = client.put_topic(orders.clone(), patch).await.expect("reset");
    assert_eq!(put.object.settings, TopicSettings::default());
    let fixed = TopicPatch { partitions: Patch::Set(2), ..TopicPatch::default() };
    assert_eq!(client.put_topic(orders.clone(), fixed).await.expect_err("fixed").code, Code::SettingFixed);
    assert_eq!(client.get_topic(orders.clone()).await.expect("there"), put.object);
    let all = PageRequest { limit: 10, cursor: None };
    let topics = client.list_topics(NamespaceName::default(), all.clone()).await.expect("a page");
    assert_eq!(topics.items, [put.object]);

    let sub = subscription("orders", "closing");
    let retry = RetryPatch { max_attempts: Patch::Set(3), multiplier: Patch::Set(1.5), ..RetryPatch::default() };
    let patch =
        SubscriptionPatch { lease: Patch::Set(MINUTE), retry: Patch::Set(retry), ..SubscriptionPatch::default() };
    let put = client.put_subscription(sub.clone(), patch).await.expect("made");
    let retry = RetryPolicy { max_attempts: 3, multiplier: 1.5, ..RetryPolicy::default() };
    assert_eq!((put.created, put.object.settings.lease, put.object.settings.retry), (true, MINUTE, retry));
    let one = RetryPatch { max_attempts: Patch::Reset, ..RetryPatch::default() };
    let patch = SubscriptionPatch { retry: Patch::Set(one), ..SubscriptionPatch::default() };
    let put = client.put_subscription(sub.clone(), patch).await.expect("changed");
    let retry = RetryPolicy { multiplier: 1.5, ..RetryPolicy::default() };
    assert_eq!((put.created, put.object.settings.retry), (false, retry));

    client.publish(orders.clone(), vec![message("a", When::Now)]).await.expect("published");
    client.set_paused(sub.clone(), true).await.expect("paused");
    assert!(client.get_subscription(sub.clone()).await.expect("there").paused);
    assert_eq!(client.receive(receive("orders", "closing")).await.expect("none while paused"), []);
    client.set_paused(sub.clone(), false).await.expect("resumed");
    assert_eq!(client.receive(receive("orders", "closing")).await.expect("one").len(), 1);
    client.seek(sub.clone(), SeekTo::Latest).await.expect("moved");
    assert_eq!(client.receive(receive("orders", "closing")).await.expect("none after it").len(), 0);
    let subscriptions = client.list_subscriptions(orders.clone(), all.clone()).await.expect("a page");
    assert_eq!(subscriptions.items.iter().map(|view| view.name.as_str()).collect::<Vec<_>>(), ["closing"]);
    client.delete_subscription(sub.clone()).await.expect("deleted");
    assert_eq!(client.get_subscription(sub).await.expect_err("gone").code, Code::SubscriptionNotFound);
    client.delete_topic(orders.clone()).await.expect("deleted");
    assert_eq!(client.get_topic(orders).await.expect_err("gone").code, Code::TopicNotFound);

    let tenant = NamespaceName::parse("tenant").expect("a name");
    let levels = vec![DelayMs::from_secs(5), DelayMs::from_secs(10)];
    let patch = NamespacePatch { delay_levels: Patch::Set(levels.clone()), ..NamespacePatch::default() };
    let put = client.put_namespace(tenant.clone(), patch).await.expect("made");
    assert_eq!((put.created, &put.object.settings.delay_levels), (true, &levels));
    assert_eq!(client.get_namespace(tenant.clone()).await.expect("there"), put.object);
    let namespaces = client.list_namespaces(all).await.expect("a page");
    assert!(namespaces.items.iter().any(|view| view.name == "tenant"));
    client.delete_namespace(tenant.clone()).await.expect("deleted");
    assert_eq!(client.get_namespace(tenant).await.expect_err("gone").code, Code::NamespaceNotFound);
    let kept = client.delete_namespace(NamespaceName::default()).await.expect_err("kept");
    assert_eq!(kept.code, Code::NamespaceInUse);

    assert_eq!(client.health().await.expect("well"), Health::Ready);
    assert_eq!(client.limits(), Limits::default());
    served.close().await;
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_unreachable_and_comes_back() {
    let (broker, served, client) = real().await;
    let address = served.address;
    client.publish(topic("orders"), vec![message("a", When::Now)]).await.expect("published");
    served.close().await;
    let error = client.get_topic(topic("orders")).await.expect_err("gone");
    assert_eq!(error.code, Code::Unreachable, "{error}");
    // Whether a call that changes something was sent at all depends on when the loss is noticed.
    let error = client.publish(topic("orders"), vec![message("b", When::Now)]).await.expect_err("gone");
    assert_eq!(error.code, Code::Unreachable, "{error}");
    let listener = tokio::net::TcpListener::bind(address).await.expect("the same port");
    let gateway = punctual_gateway_grpc::GrpcGateway {
        broker: std::sync::Arc::new(broker),
        access: Access::default(),
        connections: std::sync::Arc::new(tokio::sync::Semaphore::new(8)),
        metrics: punctual_gateway_grpc::GrpcMetrics::default(),
    };
    let serving = tokio::spawn(gateway.serve(listener, std::future::pending()));
    let view = tokio::time::timeout(Duration::from_secs(10), client.get_topic(topic("orders"))).await;
    assert_eq!(view.expect("in time").expect("back").stats.published_total, 1);
    serving.abort();
}
