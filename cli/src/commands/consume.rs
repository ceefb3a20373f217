//! `punctual consume`: receives, prints or hands to a command, acknowledges.

use std::{collections::HashMap, num::NonZeroU64, sync::Arc, time::Duration};

use clap::Args;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use punctual_broker_api::{
    AckOutcome, Broker, Consumer, DelayMs, Delivery, Error, Kind, SubscribeRequest, SubscriptionName, SubscriptionPath,
    TopicName, parse_duration,
};

use super::exec::Exec;
use crate::{
    connection::Connection, exit::Exit, failure::Failure, json, limits::CONCURRENCY_MAX, output::Output,
    serve::StopSignals, stopwatch::pause,
};

/// Messages that may be on their way to us at once.
const WINDOW: u64 = 1000;
/// Ack calls under way at once, before no more messages are taken.
const ACKS_UNDER_WAY: usize = 16;
/// The pause before a lost stream is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(500);

/// `punctual consume`
#[derive(Args, Debug)]
pub(crate) struct Consume {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    /// The subscription; it is made when it does not exist
    #[arg(long, short, value_name = "SUB", value_parser = SubscriptionName::parse)]
    subscription: SubscriptionName,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    max: Option<NonZeroU64>,
    /// Wait for further messages, and open a lost stream again
    #[arg(long, short, conflicts_with = "wait")]
    follow: bool,
    /// Without --follow: end when no message has come for so long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "1s")]
    wait: DelayMs,
    /// Acknowledge every message once it is printed; the default
    #[arg(long, conflicts_with_all = ["no_ack", "exec"])]
    ack: bool,
    /// Only look: at the end everything goes back to its place, attempts not raised
    #[arg(long, conflicts_with = "exec")]
    no_ack: bool,
    /// The lease, instead of the subscription's own
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    lease: Option<DelayMs>,
    /// Run a shell command for each message: the body on its standard input, the fields as
    /// PUNCTUAL_ID, PUNCTUAL_TOPIC, PUNCTUAL_KEY, PUNCTUAL_TAG, PUNCTUAL_ATTEMPT, ...; exit status 0
    /// acks, any other nacks. The lease is extended while it runs
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Commands that run at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "exec",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(CONCURRENCY_MAX)))]
    concurrency: u32,
}

/// How a stream came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Everything that was asked for has come, or nothing came for long enough, or the user wants
    /// no more.
    Done,
    /// The broker ended the stream, or the connection broke.
    Lost,
}

impl Consume {
    /// Consumes until there is a reason to end.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let topic = connection.topic(&self.topic);
        let path = SubscriptionPath { topic, subscription: self.subscription.clone() };
        let mut session = Session {
            broker: Arc::clone(&connection.broker),
            output: connection.shared.output(),
            left: self.max.map_or(u64::MAX, NonZeroU64::get),
            path,
            unsettled: 0,
            options: self,
        };
        let mut signals = StopSignals::listen()?;
        loop {
            let Some(mut consumer) = session.open(&mut signals).await? else { break };
            let end = if session.options.exec.is_some() {
                session.exec_all(consumer.as_mut(), &mut signals).await?
            } else {
                session.print_all(consumer.as_mut(), &mut signals).await?
            };
            consumer.close().await;
            match (end, session.options.follow) {
                (End::Done, _) => break,
                (End::Lost, true) => {
                    session.output.note("the stream ended; opening it again");
                    pause(REOPEN_AFTER).await;
                }
                (End::Lost, false) => {
                    return Err(Failure::new(Exit::Failed, "the broker ended the stream")
                        .with_hint("it may be stopping; with --follow the stream is opened again"));
                }
            }
        }
        if session.unsettled == 0 { Ok(()) } else { Err(Failure::told(Exit::Failed)) }
    }
}

struct Session {
    broker: Arc<dyn Broker>,
    output: Output,
    path: SubscriptionPath,
    options: Consume,
    /// Messages that may still come.
    left: u64,
    /// Messages that could not be acked: they will be delivered again.
    unsettled: u64,
}

impl Session {
    /// Opens the stream; with `--follow` waits for a broker that cannot be reached at the moment.
    /// `None` when the user wants no more.
    async fn open(&self, signals: &mut StopSignals) -> Result<Option<Box<dyn Consumer>>, Failure> {
        loop {
            let request =
                SubscribeRequest { subscription: self.path.clone(), lease: self.options.lease, max_in_flight: 0 };
            match self.broker.subscribe(request).await {
                Ok(consumer) => return Ok(Some(consumer)),
                Err(error) if self.options.follow && error.kind() == Kind::Unavailable => {}
                Err(error) => return Err(error.into()),
            }
            tokio::select! {
                _ = signals.next() => return Ok(None),
                () = pause(REOPEN_AFTER) => {}
            }
        }
    }

    /// The next deliveries: `Ok(None)` is the end of waiting.
    async fn next(&self, consumer: &mut dyn Consumer) -> Result<Option<Vec<Delivery>>, Lost> {
        if self.options.follow {
            return consumer.next().await.map(Some).ok_or(Lost);
        }
        let wait = Duration::from_millis(self.options.wait.ms());
        match tokio::time::timeout(wait, consumer.next()).await {
            Ok(deliveries) => deliveries.map(Some).ok_or(Lost),
            Err(_) => Ok(None),
        }
    }

    async fn print_all(&mut self, consumer: &mut dyn Consumer, signals: &mut StopSignals) -> Result<End, Failure> {
        // No more credit than messages wanted, so that none is leased only to be given back.
        let mut on_the_way = self.left.min(WINDOW);
        grant(consumer, on_the_way);
        // An ack is answered after a sync; what comes meanwhile is printed meanwhile.
        let mut acks = FuturesUnordered::new();
        let end = loop {
            if self.left == 0 {
                break End::Done;
            }
            let next = tokio::select! {
                Some(answer) = acks.next(), if !acks.is_empty() => {
                    self.count(answer)?;
                    continue;
                }
                next = self.next(consumer), if acks.len() < ACKS_UNDER_WAY => next,
                _ = signals.next() => break End::Done,
            };
            let deliveries = match next {
                Ok(Some(deliveries)) => deliveries,
                Ok(None) => break End::Done,
                Err(Lost) => break End::Lost,
            };
            self.print(&deliveries)?;
            let count = deliveries.len() as u64;
            self.left = self.left.saturating_sub(count);
            on_the_way = on_the_way.saturating_sub(count);
            if !self.options.no_ack {
                let receipts = deliveries.iter().map(|delivery| delivery.receipt.clone()).collect();
                let (broker, path) = (Arc::clone(&self.broker), self.path.clone());
                acks.push(async move { (deliveries, broker.ack(path, receipts).await) });
            }
            let credit = self.left.min(WINDOW).saturating_sub(on_the_way);
            on_the_way += credit;
            grant(consumer, credit);
        };
        while let Some(answer) = acks.next().await {
            self.count(answer)?;
        }
        Ok(end)
    }

    /// Prints, all at once. A message is acked only after whoever reads the output has it.
    fn print(&self, deliveries: &[Delivery]) -> Result<(), Failure> {
        let mut text = Vec::new();
        for (number, delivery) in deliveries.iter().enumerate() {
            if number > 0 {
                text.push(b'\n');
            }
            if self.output.json {
                text.extend_from_slice(json::delivery(delivery).to_string().as_bytes());
            } else {
                text.extend_from_slice(&delivery.body);
            }
        }
        if deliveries.is_empty() {
            return Ok(());
        }
        self.output.print_bytes(&text)?;
        self.output.flush()
    }

    /// Counts what could not be acked.
    fn count(&mut self, answer: (Vec<Delivery>, Result<Vec<AckOutcome>, Error>)) -> Result<(), Failure> {
        let (deliveries, outcomes) = answer;
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            // Whether they were acked nobody knows; if not, they come again on the next stream.
            Err(error) if self.options.follow && matches!(error.kind(), Kind::Unavailable | Kind::UnknownOutcome) => {
                self.output.note(&format!("{} messages may come again: {error}", deliveries.len()));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        for (delivery, outcome) in deliveries.iter().zip(outcomes) {
            match outcome {
                AckOutcome::Acked => {}
                AckOutcome::LeaseLost | AckOutcome::Invalid => {
                    self.unsettled += 1;
                    self.output.note(&format!("message {} was not acked: its lease is lost", delivery.id));
                }
            }
        }
        Ok(())
    }

    async fn exec_all(&mut self, consumer: &mut dyn Consumer, signals: &mut StopSignals) -> Result<End, Failure> {
        let command = self.options.exec.clone().unwrap_or_default();
        let exec =
            Arc::new(Exec { broker: Arc::clone(&self.broker), path: self.path.clone(), output: self.output, command });
        let mut running = tokio::task::JoinSet::new();
        let mut credit = self.left.min(u64::from(self.options.concurrency));
        let mut expected = self.left;
        grant(consumer, credit);
        expected -= credit;
        let mut end = None;
        let mut interrupted = false;
        // After the end of the stream, or the first signal, the commands that run are waited for.
        while end.is_none() && self.left > 0 || !running.is_empty() {
            let receiving =
                end.is_none() && self.left > 0 && (running.len() as u64) < u64::from(self.options.concurrency);
            let waiting = running.is_empty();
            tokio::select! {
                biased;
                Some(joined) = running.join_next(), if !waiting => {
                    let broke = |error| Failure::new(Exit::Failed, format!("a task broke: {error}"));
                    let settled: Result<bool, Failure> = joined.map_err(broke)?;
                    self.unsettled += u64::from(!settled?);
                    if end.is_none() {
                        credit = expected.min(1);
                        expected -= credit;
                        grant(consumer, credit);
                    }
                }
                _ = signals.next() => {
                    // The commands that run are given up only at the second signal.
                    if interrupted { return Ok(End::Done); }
                    (interrupted, end) = (true, Some(End::Done));
                    consumer.stop().await;
                }
                next = self.next(consumer), if receiving => match next {
                    Ok(Some(deliveries)) => for delivery in deliveries {
                        self.left = self.left.saturating_sub(1);
                        let exec = Arc::clone(&exec);
                        running.spawn(async move { exec.run(delivery).await });
                    },
                    // While a command runs its nack may bring a message back.
                    Ok(None) if !waiting => {}
                    Ok(None) => end = Some(End::Done),
                    Err(Lost) => end = Some(End::Lost),
                },
            }
        }
        Ok(end.unwrap_or(End::Done))
    }
}

/// The stream is over and nobody asked for that.
#[derive(Debug)]
struct Lost;

fn grant(consumer: &dyn Consumer, messages: u64) {
    if let Ok(messages @ 1..) = u32::try_from(messages) {
        consumer.credit(messages);
    }
}

/// The fields of a delivery as environment variables; `None` for one that is absent and must not
/// be inherited from our own environment.
pub(crate) fn variables(delivery: &Delivery) -> HashMap<&'static str, Option<String>> {
    let object = json::delivery(delivery);
    let field = |name: &str| match object.get(name) {
        None | Some(serde_json::Value::Null) => None,
        Some(serde_json::Value::String(text)) => Some(text.clone()),
        Some(value) => Some(value.to_string()),
    };
    [
        ("PUNCTUAL_ID", "id"),
        ("PUNCTUAL_TOPIC", "topic"),
        ("PUNCTUAL_KEY", "key"),
        ("PUNCTUAL_ORDERING_KEY", "ordering_key"),
        ("PUNCTUAL_TAG", "tag"),
        ("PUNCTUAL_HEADERS", "headers"),
        ("PUNCTUAL_PRIORITY", "priority"),
        ("PUNCTUAL_ATTEMPT", "attempt"),
        ("PUNCTUAL_PUBLISHED_AT", "published_at"),
        ("PUNCTUAL_DELIVER_AT", "deliver_at"),
        ("PUNCTUAL_DELIVERED_AT", "delivered_at"),
        ("PUNCTUAL_LATENESS_MS", "lateness_ms"),
        ("PUNCTUAL_DEAD_LETTER", "dead_letter"),
    ]
    .into_iter()
    .map(|(variable, name)| (variable, field(name)))
    .collect()
}
