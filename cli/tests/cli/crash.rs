//! kill -9 in the middle of publishing and in the middle of consuming: what was answered "done"
//! stays done.

use std::{
    collections::BTreeSet,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use punctual_broker_api::{
    AckOutcome, Broker, Error, NamespaceName, SubscribeRequest, SubscriptionName, SubscriptionPath, TopicName,
    TopicPath,
};
use punctual_client::{Client, ClientConfig};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    sync::watch,
    time::timeout,
};

use crate::{
    oracle::{ClockTie, Judge, Plan, Received, now, size},
    support::{Server, punctual, text},
};

/// How often something is looked at that nobody announces.
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[allow(clippy::disallowed_methods, reason = "other processes are watched; their clock is real")]
async fn beat() {
    tokio::time::sleep(LOOK_EVERY).await;
}

/// Publishes the file and remembers which lines were answered as stored.
async fn publish(server: String, file: String, acknowledged: Arc<AtomicU64>) -> BTreeSet<usize> {
    let mut command = punctual();
    command.args(["publish", "orders", "--lines", &file, "--json", "--server", &server]).stderr(Stdio::inherit());
    // Small batches and few of them, so that the broker dies between two and not after the last.
    command.args(["--batch", "100", "--in-flight", "2"]);
    let mut child = command.spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut stored = BTreeSet::new();
    while let Some(line) = lines.next_line().await.expect("stdout is readable") {
        let object: Value = serde_json::from_str(&line).expect("one object a line");
        if let (Some(line), Some(_)) = (object["line"].as_u64(), object["id"].as_str()) {
            stored.insert(usize::try_from(line).expect("a number of a test"));
            acknowledged.store(stored.len() as u64, Ordering::Release);
        }
    }
    let status = child.wait().await.expect("its status");
    assert!(status.success(), "every line is stored in the end: {status}");
    stored
}

/// Consumes one subscription over every crash, until told to stop.
async fn consume(server: String, subscription: &str, judge: Arc<Mutex<Judge>>, stop: watch::Receiver<bool>) {
    let path = SubscriptionPath {
        topic: TopicPath { namespace: NamespaceName::default(), topic: TopicName::parse("orders").expect("a name") },
        subscription: SubscriptionName::parse(subscription).expect("a name"),
    };
    while !*stop.borrow() {
        // While the broker is down every attempt fails, and is made again.
        let _: Result<(), Error> = consume_once(&server, &path, &judge, stop.clone()).await;
        beat().await;
    }
}

async fn consume_once(
    server: &str,
    path: &SubscriptionPath,
    judge: &Mutex<Judge>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), Error> {
    let client = Client::connect(ClientConfig::new(server)).await?;
    let request = SubscribeRequest { subscription: path.clone(), lease: None, max_in_flight: 0 };
    let mut consumer = client.subscribe(request).await?;
    consumer.credit(500);
    loop {
        let deliveries = tokio::select! {
            next = consumer.next() => match next { Some(deliveries) => deliveries, None => return Ok(()) },
            _ = stop.changed() => { consumer.close().await; return Ok(()); }
        };
        let at = now();
        let mut taken = Vec::new();
        for delivery in &deliveries {
            let line = judge.lock().expect("no test panicked").take(&Received {
                body: std::str::from_utf8(&delivery.body).unwrap_or("not UTF-8"),
                at,
                published_at_ms: delivery.published_at.unix_ms(),
                deliver_at_ms: delivery.deliver_at.unix_ms(),
                delivered_at_ms: delivery.delivered_at.unix_ms(),
                lateness_ms: delivery.lateness_ms,
            });
            taken.push(line);
        }
        consumer.credit(u32::try_from(deliveries.len()).expect("within the credit"));
        let receipts = deliveries.iter().map(|delivery| delivery.receipt.clone()).collect();
        let outcomes = client.ack(path.clone(), receipts).await?;
        let mut judge = judge.lock().expect("no test panicked");
        for (line, outcome) in taken.into_iter().zip(outcomes) {
            if let (Some(line), AckOutcome::Acked) = (line, outcome) {
                judge.acked[line] = true;
            }
        }
    }
}

async fn until(what: &str, bound: Duration, mut reached: impl FnMut() -> bool) {
    let waiting = async {
        while !reached() {
            beat().await;
        }
    };
    assert!(timeout(bound, waiting).await.is_ok(), "{what} within {bound:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_kill_9_in_the_middle_of_publishing_and_consuming() {
    let spread = Duration::from_secs(size("PUNCTUAL_SPREAD", 6));
    let plan = Plan { lines: size("PUNCTUAL_LINES", 20_000), spread, seed: size("PUNCTUAL_SEED", 2) };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("lines.ndjson");
    plan.write(&file);
    let data = directory.path().join("data");
    let args = ["--data", text(&data)];
    let mut server = Server::start(&args).await;
    let grpc = server.grpc.clone();
    for subscription in ["a", "b"] {
        server.text(&["sub", "set", "orders", subscription]).await;
    }
    // One tie for the whole test: broker time goes on by elapsed time over a restart.
    let tie = ClockTie::of(&server).await;
    let (stop, stopped) = watch::channel(false);
    let judges = ["a", "b"].map(|_| Arc::new(Mutex::new(Judge::new(plan, tie))));
    let consumers: Vec<_> = ["a", "b"]
        .into_iter()
        .zip(&judges)
        .map(|(name, judge)| tokio::spawn(consume(grpc.clone(), name, Arc::clone(judge), stopped.clone())))
        .collect();
    let acknowledged = Arc::new(AtomicU64::new(0));
    let publishing = tokio::spawn(publish(grpc.clone(), text(&file).to_owned(), Arc::clone(&acknowledged)));
    let bound = spread + Duration::from_secs(60 + plan.lines / 1_000);
    let unique = |index: usize| judges[index].lock().expect("no test panicked").unique() as u64;

    until("a quarter of the lines is stored", bound, || acknowledged.load(Ordering::Acquire) >= plan.lines / 4).await;
    server.kill().await;
    let stored_before = acknowledged.load(Ordering::Acquire);
    server = Server::start_on(&grpc, &args).await;
    until("half of the lines came to a", bound, || unique(0) >= plan.lines / 2).await;
    server.kill().await;
    server = Server::start_on(&grpc, &args).await;
    let stored = timeout(bound, publishing).await.expect("published in time").expect("it ran");
    assert_eq!(stored.len() as u64, plan.lines, "every line was stored in the end");
    until("every line came to both", bound, || unique(0) == plan.lines && unique(1) == plan.lines).await;
    // What is still leased or on its way would show as a zombie or a repetition.
    for subscription in ["a", "b"] {
        let drained = async {
            loop {
                let shown = server.json(&["sub", "show", "orders", subscription]).await.remove(0);
                let stats = &shown["stats"];
                if stats["ready"] == 0 && stats["leased"] == 0 && stats["retrying"] == 0 {
                    break;
                }
                beat().await;
            }
        };
        assert!(timeout(bound, drained).await.is_ok(), "subscription {subscription} drains");
    }
    stop.send(true).expect("consumers listen");
    for consumer in consumers {
        consumer.await.expect("no consumer panicked");
    }
    eprintln!("killed with {stored_before} of {} lines stored, and again with half of them consumed", plan.lines);
    for (judge, subscription) in judges.iter().zip(["a", "b"]) {
        let judge = judge.lock().expect("no test panicked");
        eprintln!("subscription {subscription}: {} repeated; {}", judge.repeated(), judge.lateness_text());
        assert!(judge.faults.is_empty(), "subscription {subscription}: {}", judge.shown_faults());
        let lost: Vec<&usize> = stored.iter().filter(|line| judge.seen[**line] == 0).take(10).collect();
        assert!(lost.is_empty(), "subscription {subscription} lost lines {lost:?}");
    }
    assert_eq!(server.stop().await.code(), Some(0));
}
