//! The same over a connection, and over connections that are lost.

use std::{convert::Infallible, sync::Arc};

use futures_util::{StreamExt, stream};
use punctual_client::{Client, Leased, Producer, Publisher, Worker, api::*};

use crate::support::{Door, closing, embedded, end_of, message, orders, publish, receive, reports, seen, stats, text};

#[tokio::test]
async fn a_worker_over_a_connection_acks_nacks_and_stops() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    let client = door.client().await;
    publish(&broker, &["good", "bad"]).await;
    let (report, mut handled) = reports();
    let worker = client.consume(closing()).concurrency(2);
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(seen(&leased));
        async move { if text(&leased) == "good" { Ok(()) } else { Err("bad") } }
    }));
    let mut bodies = [handled.next().await, handled.next().await];
    bodies.sort();
    assert_eq!(bodies, [("bad".to_owned(), 1), ("good".to_owned(), 1)]);
    stopper.stop();
    end_of(running).await.expect("stopped");
    let stats = stats(&broker).await;
    assert_eq!((stats.acked_total, stats.retrying, stats.leased), (1, 1, 0));
    door.close().await;
}

#[tokio::test]
async fn a_worker_goes_on_when_the_broker_comes_back() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    let (report, mut handled) = reports();
    let worker = door.client().await.consume(closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(text(&leased));
        async { Ok::<_, Infallible>(()) }
    }));
    publish(&broker, &["before"]).await;
    assert_eq!(handled.next().await, "before");
    let mut port = door.close().await;
    for body in ["first", "second"] {
        publish(&broker, &[body]).await;
        let door = Door::open(&broker, port).await;
        assert_eq!(handled.next().await, body);
        port = door.close().await;
    }
    // It is stopped while there is no broker.
    stopper.stop();
    end_of(running).await.expect("stopped");
}

#[tokio::test]
async fn a_worker_that_begins_before_its_broker_waits_for_it() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    let client = door.client().await;
    let port = door.close().await;
    let (report, mut handled) = reports();
    let worker = client.consume(closing());
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        report(text(&leased));
        async { Ok::<_, Infallible>(()) }
    }));
    publish(&broker, &["a"]).await;
    let door = Door::open(&broker, port).await;
    assert_eq!(handled.next().await, "a");
    stopper.stop();
    end_of(running).await.expect("stopped");
    door.close().await;
}

#[tokio::test]
async fn a_handler_whose_connection_was_lost_is_told_when_there_is_one_again() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    publish(&broker, &["a"]).await;
    let (report, mut handled) = reports();
    // Only the new connection is a reason to ask within this test: the lease is not.
    let worker = door.client().await.consume(closing()).lease(DelayMs::from_secs(12 * 3600));
    let stopper = worker.stopper();
    let running = tokio::spawn(worker.run(move |leased: Leased| {
        let report = report.clone();
        async move {
            report((leased.attempt, "begun"));
            leased.lease().lost().await;
            report((leased.attempt, "told"));
            Ok::<_, Infallible>(())
        }
    }));
    assert_eq!(handled.next().await, (1, "begun"));
    let port = door.close().await;
    // Somebody else has it meanwhile.
    broker.seek(closing(), SeekTo::Latest).await.expect("moved");
    let door = Door::open(&broker, port).await;
    assert_eq!(handled.next().await, (1, "told"));
    stopper.stop();
    end_of(running).await.expect("stopped");
    door.close().await;
}

async fn pipeline(client: &Client) -> Publisher {
    client.publisher(32).await.expect("a publisher")
}

#[tokio::test]
async fn a_stream_through_a_pipeline_is_accepted_and_answered_in_its_order() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    let client = door.client().await;
    let orders = client.producer(orders()).through(pipeline(&client).await);
    let bodies: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    let messages = stream::iter(bodies.clone()).map(|body| message(&body));
    let answers: Vec<_> = orders.publish_all(messages, 7, 16).collect().await;
    let ids: Vec<MessageId> = answers.into_iter().map(|answer| answer.expect("accepted").id).collect();
    let received = receive(&broker, &closing(), 1000).await;
    assert_eq!(received.iter().map(text).collect::<Vec<_>>(), bodies);
    assert_eq!(received.into_iter().map(|delivery| delivery.id).collect::<Vec<_>>(), ids);
    door.close().await;
}

#[tokio::test]
async fn a_stream_has_an_answer_for_each_message_also_when_its_call_is_refused() {
    let broker = embedded().await;
    let patch = NamespacePatch { auto_create: Patch::Set(false), ..NamespacePatch::default() };
    broker.put_namespace(NamespaceName::default(), patch).await.expect("a namespace");
    let orders = Producer::new(Arc::clone(&broker), orders());
    let messages = stream::iter(["a", "b", "c"]).map(message);
    let answers: Vec<_> = orders.publish_all(messages, 2, 2).collect().await;
    let codes: Vec<_> = answers.into_iter().map(|answer| answer.expect_err("refused").code).collect();
    assert_eq!(codes, [Code::TopicNotFound; 3]);
}

#[tokio::test]
async fn no_more_calls_are_in_flight_than_allowed_and_the_stream_is_not_read_ahead() {
    let broker = embedded().await;
    let orders = Producer::new(broker, orders());
    let taken = std::cell::Cell::new(0usize);
    let messages = stream::iter(0..1000).map(|n: usize| {
        taken.set(n + 1);
        message("x")
    });
    let mut answers = std::pin::pin!(orders.publish_all(messages, 10, 4));
    answers.next().await.expect("an answer").expect("accepted");
    assert!(taken.get() <= 50, "{} messages were taken for one answer that was read", taken.get());
    assert_eq!(answers.count().await, 999);
}

#[tokio::test]
async fn a_worker_is_the_same_over_every_broker() {
    let broker = embedded().await;
    let door = Door::open(&broker, 0).await;
    let remote: Arc<dyn Broker> = Arc::new(door.client().await);
    for over in [&broker, &remote] {
        publish(over, &["a"]).await;
        let (report, mut handled) = reports();
        let worker = Worker::new(Arc::clone(over), closing());
        let stopper = worker.stopper();
        let running = tokio::spawn(worker.run(move |leased: Leased| {
            report(text(&leased));
            async { Ok::<_, Infallible>(()) }
        }));
        assert_eq!(handled.next().await, "a");
        stopper.stop();
        end_of(running).await.expect("stopped");
    }
    assert_eq!(stats(&broker).await.acked_total, 2);
    door.close().await;
}
