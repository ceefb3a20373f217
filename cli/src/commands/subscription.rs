//! `punctual sub`: list, show, make or change, delete, pause, resume, move, redrive.

use clap::{Args, Subcommand};
use punctual_broker_api::{
    Breaker, DelayMs, MessageId, PageRequest, Patch, RedriveRequest, RetryPatch, SeekTo, Start, SubscriptionName,
    SubscriptionPatch, SubscriptionPath, SubscriptionView, Time, TimeRange, TopicName, parse_duration,
    time_text::parse_time,
};
use serde_json::json;

use super::{fields, patch::patch, topic::PAGE};
use crate::{connection::Connection, failure::Failure, json, output::Output, table};

/// What to do with subscriptions.
#[derive(Debug, Subcommand)]
pub(crate) enum Subscription {
    /// List a topic's subscriptions
    Ls {
        /// The topic
        #[arg(value_parser = TopicName::parse)]
        topic: TopicName,
    },
    /// Show a subscription
    Show(Which),
    /// Make a subscription, or change its settings
    Set(Box<Set>),
    /// Delete a subscription
    Rm(Which),
    /// Stop offering its messages
    Pause(Which),
    /// Offer its messages again
    Resume(Which),
    /// Move it: what it skips counts as acked, what it goes back to is offered again
    Seek {
        #[command(flatten)]
        which: Which,
        /// earliest, latest, or a time: RFC 3339 or Unix milliseconds
        #[arg(value_parser = seek_to)]
        to: SeekTo,
    },
    /// Give its dead letters back to it, due now, attempts from 1
    Redrive(Redrive),
}

/// `punctual sub redrive`
#[derive(Args, Debug)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
    /// At most so many
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// Only this message; may be given again
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
    /// Only those that were dead-lettered from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Time>,
    /// Only those that were dead-lettered before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<Time>,
}

/// Which subscription.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    /// The subscription
    #[arg(value_parser = SubscriptionName::parse)]
    subscription: SubscriptionName,
}

/// `punctual sub set`
#[derive(Args, Debug)]
pub(crate) struct Set {
    #[command(flatten)]
    which: Which,
    /// Where a new subscription begins: earliest, latest, or a time: RFC 3339 or Unix milliseconds
    #[arg(long, value_name = "WHERE", value_parser = start)]
    start: Option<Start>,
    /// How long a delivery may stay unacknowledged
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    lease: Option<DelayMs>,
    /// Deliveries in all before a message is dead-lettered
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// The delay after the first failure
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_initial: Option<DelayMs>,
    /// What each further failure multiplies the delay by
    #[arg(long, value_name = "FACTOR")]
    retry_multiplier: Option<f64>,
    /// The longest delay
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry_max: Option<DelayMs>,
    /// The random share of the delay, 0 to 1
    #[arg(long, value_name = "SHARE")]
    retry_jitter: Option<f64>,
    /// Where dead letters go
    #[arg(long, value_name = "TOPIC")]
    dead_letter_topic: Option<String>,
    /// At most so many messages with consumers at once
    #[arg(long, value_name = "N")]
    max_in_flight: Option<u32>,
    /// Deliver messages of an ordering key one at a time and in order
    #[arg(long, value_name = "true|false")]
    ordered: Option<bool>,
    /// Which messages it wants: `a || b`, `header.x = 'y' AND header.z != 'w'`, or `*`
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// At most so many deliveries a second
    #[arg(long, value_name = "N")]
    max_rate: Option<u32>,
    /// So many failures within a window stop the offers for a pause, such as 5,1m,30s
    #[arg(long, value_name = "FAILURES,WINDOW,PAUSE", value_parser = breaker)]
    breaker: Option<Breaker>,
    /// Put a setting back to its default; `retry` puts all of its fields back
    #[arg(long, value_name = "SETTING", value_parser = ["lease", "retry", "max_attempts", "retry_initial",
        "retry_multiplier", "retry_max", "retry_jitter", "dead_letter_topic", "max_in_flight", "ordered",
        "filter", "max_rate", "breaker"])]
    reset: Vec<String>,
}

fn breaker(text: &str) -> Result<Breaker, String> {
    let [failures, window, pause] = *text.split(',').collect::<Vec<_>>() else {
        return Err("is not FAILURES,WINDOW,PAUSE, such as 5,1m,30s".to_owned());
    };
    let duration = |text: &str| parse_duration(text).map_err(|what| format!("has a duration `{text}` that {what}"));
    Ok(Breaker {
        failures: failures.parse().map_err(|_| format!("has `{failures}`, which is no number of failures"))?,
        window: duration(window)?,
        pause: duration(pause)?,
    })
}

fn start(text: &str) -> Result<Start, String> {
    seek_to(text).map(Start::from)
}

fn seek_to(text: &str) -> Result<SeekTo, String> {
    match text {
        "earliest" => Ok(SeekTo::Earliest),
        "latest" => Ok(SeekTo::Latest),
        time => parse_time(time).map(SeekTo::Time).map_err(|what| format!("is not earliest or latest, and {what}")),
    }
}

impl Which {
    fn path(&self, connection: &Connection) -> SubscriptionPath {
        SubscriptionPath { topic: connection.topic(&self.topic), subscription: self.subscription.clone() }
    }

    fn said(&self, output: Output, word: &str) -> Result<(), Failure> {
        let object = json!({"topic": self.topic.as_str(), "subscription": self.subscription.as_str(), "outcome": word});
        output.print(&object, || format!("{word} {} of {}", self.subscription, self.topic))
    }
}

impl Subscription {
    /// Does it.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let output = connection.shared.output();
        let broker = &connection.broker;
        match self {
            Self::Ls { topic } => list(&connection, &topic).await,
            Self::Show(which) => show(output, &broker.get_subscription(which.path(&connection)).await?),
            Self::Set(set) => {
                let path = set.which.path(&connection);
                show(output, &broker.put_subscription(path, set.patch()).await?.object)
            }
            Self::Rm(which) => {
                broker.delete_subscription(which.path(&connection)).await?;
                which.said(output, "deleted")
            }
            Self::Pause(which) => {
                broker.set_paused(which.path(&connection), true).await?;
                which.said(output, "paused")
            }
            Self::Resume(which) => {
                broker.set_paused(which.path(&connection), false).await?;
                which.said(output, "resumed")
            }
            Self::Seek { which, to } => {
                broker.seek(which.path(&connection), to).await?;
                which.said(output, "moved")
            }
            Self::Redrive(redrive) => redrive.run(&connection).await,
        }
    }
}

impl Redrive {
    async fn run(self, connection: &Connection) -> Result<(), Failure> {
        let ids: Vec<_> = self.ids.iter().map(|id| MessageId::new(id)).collect();
        let request = RedriveRequest {
            max: self.max,
            ids: (!ids.is_empty()).then_some(ids),
            range: TimeRange { from: self.from, to: self.to },
        };
        let redriven = connection.broker.redrive(self.which.path(connection), request).await?;
        connection.shared.output().print(&json!({"redriven": redriven}), || format!("redrove {redriven}"))
    }
}

impl Set {
    fn patch(self) -> SubscriptionPatch {
        let reset = &self.reset;
        let retry = RetryPatch {
            max_attempts: patch(self.max_attempts, "max_attempts", reset),
            initial: patch(self.retry_initial, "retry_initial", reset),
            multiplier: patch(self.retry_multiplier, "retry_multiplier", reset),
            max: patch(self.retry_max, "retry_max", reset),
            jitter: patch(self.retry_jitter, "retry_jitter", reset),
        };
        let retry = if retry == RetryPatch::default() { patch(None, "retry", reset) } else { Patch::Set(retry) };
        SubscriptionPatch {
            start: patch(self.start, "start", reset),
            lease: patch(self.lease, "lease", reset),
            retry,
            dead_letter_topic: patch(self.dead_letter_topic, "dead_letter_topic", reset),
            max_in_flight: patch(self.max_in_flight, "max_in_flight", reset),
            ordered: patch(self.ordered, "ordered", reset),
            filter: patch(self.filter, "filter", reset),
            max_rate: patch(self.max_rate, "max_rate", reset),
            breaker: patch(self.breaker, "breaker", reset),
        }
    }
}

async fn list(connection: &Connection, topic: &TopicName) -> Result<(), Failure> {
    let output = connection.shared.output();
    let mut rows = Vec::new();
    let mut page = PageRequest { limit: PAGE, cursor: None };
    loop {
        let found = connection.broker.list_subscriptions(connection.topic(topic), page.clone()).await?;
        for view in &found.items {
            if output.json {
                output.print(&json::subscription(view), String::new)?;
            }
            let stats = &view.stats;
            let counts = [stats.ready, stats.leased, stats.retrying, stats.dead].map(|n| n.to_string());
            let [ready, leased, retrying, dead] = counts;
            let state = if view.paused { "paused" } else { "running" };
            rows.push([view.name.clone(), state.to_owned(), ready, leased, retrying, dead]);
        }
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    if output.json {
        return Ok(());
    }
    let headings = ["SUBSCRIPTION", "STATE", "READY", "LEASED", "RETRYING", "DEAD"];
    output.print(&json!({}), || table::render(headings, &rows))
}

fn show(output: Output, view: &SubscriptionView) -> Result<(), Failure> {
    let object = json::subscription(view);
    output.print(&object, || fields::text(&object))
}
