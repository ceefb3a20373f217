//! `punctual bench`: from flags to runs of the load generator, against a broker that runs already
//! or one of our own.

use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use clap::{Args, Subcommand};
use punctual_bench::{Delays, DeliverOptions, EndToEndOptions, Load, PublishOptions, TopicPlan};
use punctual_broker_api::{Broker, DelayMs, Durability, NamespaceName, parse_duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use super::patch::one_of;
use crate::{args::Shared, connection::Connection, exit::Exit, failure::Failure};

/// How long a broker of our own may take to listen.
const SPAWN_PATIENCE: Duration = Duration::from_secs(30);

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// How fast messages go in
    Publish(Common),
    /// How fast a backlog that has come due goes out
    Deliver(Deliver),
    /// Publish with delays and consume at once: lateness, and what went wrong
    EndToEnd(EndToEnd),
}

/// Options of every run.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Start a broker for the run, with its data in a new directory that is removed afterwards; the
    /// default without --server
    #[arg(long)]
    spawn: bool,
    /// Where the directory of a broker of our own is made; it measures this file system
    #[arg(long, value_name = "DIR", default_value = ".")]
    spawn_in: PathBuf,
    /// A flag for the `serve` of a broker of our own, such as --serve-flag=--store=memory
    #[arg(long, value_name = "FLAG")]
    serve_flag: Vec<String>,
    /// Bytes of a body, at least 52
    #[arg(long, value_name = "BYTES", default_value_t = 200)]
    size: usize,
    /// Messages of a batch
    #[arg(long, value_name = "N", default_value_t = 256)]
    batch: usize,
    /// Batches of one connection under way at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    in_flight: usize,
    /// Connections
    #[arg(long, value_name = "N", default_value_t = 2)]
    connections: usize,
    /// Messages a second over all connections; as fast as it goes when left out
    #[arg(long, value_name = "N")]
    rate: Option<u64>,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    messages: Option<u64>,
    /// End after so long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<DelayMs>,
    /// Delays: none, fixed:5s, uniform:0..60s or exp:10s
    #[arg(long, value_name = "DISTRIBUTION", default_value = "none")]
    delays: Delays,
    /// Topics, used in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    topics: u32,
    /// Partitions of each topic
    #[arg(long, value_name = "N", default_value_t = 1)]
    partitions: u16,
    /// Durability of each topic: sync, async or memory
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = durability)]
    durability: Durability,
    /// What the topics' names begin with
    #[arg(long, value_name = "PREFIX", default_value = "bench")]
    topic: String,
    /// Leave the topics there after the run
    #[arg(long)]
    keep_topics: bool,
    /// The seed of the load; at random when left out
    #[arg(long)]
    seed: Option<u64>,
}

/// `punctual bench deliver`
#[derive(Args, Debug)]
pub(crate) struct Deliver {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    consuming: Consuming,
}

/// `punctual bench end-to-end`
#[derive(Args, Debug)]
pub(crate) struct EndToEnd {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    consuming: Consuming,
    /// Subscriptions of each topic; each gets everything
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    subscriptions: u32,
}

#[derive(Args, Debug)]
struct Consuming {
    /// Consumers of each subscription and topic
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    consumers: u32,
    /// Messages that may be on their way to a consumer
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    credit: u32,
    /// How long to wait, after the last message is due, for messages that are missing
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30s")]
    drain: DelayMs,
}

fn durability(text: &str) -> Result<Durability, String> {
    one_of(&[Durability::Sync, Durability::Async, Durability::Memory].map(|value| (value.as_str(), value)), text)
}

fn duration(delay: DelayMs) -> Duration {
    Duration::from_millis(delay.ms())
}

impl Bench {
    /// Runs it and prints the report.
    ///
    /// # Errors
    /// Exit code 1 when a message was refused, lost, early, altered or made up.
    pub(crate) async fn run(self, shared: Shared) -> Result<(), Failure> {
        let common = match &self {
            Self::Publish(common) => common,
            Self::Deliver(deliver) => &deliver.common,
            Self::EndToEnd(end_to_end) => &end_to_end.common,
        };
        let spawned = if common.spawn || shared.server.is_none() { Some(Spawned::start(common).await?) } else { None };
        let mut shared = shared;
        if let Some(spawned) = &spawned {
            shared.server = Some(spawned.address.clone());
        }
        let mut connections: Vec<Arc<dyn Broker>> = Vec::new();
        for _ in 0..common.connections {
            connections.push(Connection::open(shared.clone()).await?.broker);
        }
        let namespace = shared.namespace.clone();
        let report = match self {
            Self::Publish(common) => punctual_bench::publish(common.publish(namespace)?, &connections).await,
            Self::Deliver(deliver) => punctual_bench::deliver(deliver.options(namespace)?, &connections).await,
            Self::EndToEnd(run) => punctual_bench::end_to_end(run.options(namespace)?, &connections).await,
        };
        let report = report.map_err(|error| match error {
            punctual_bench::BenchError::Refused { doing, error } => {
                let mut failure = Failure::from(error);
                failure.message = format!("{doing}: {}", failure.message);
                failure
            }
            punctual_bench::BenchError::Options(text) => Failure::new(Exit::Usage, text),
        })?;
        drop(connections);
        if let Some(spawned) = spawned {
            spawned.end().await?;
        }
        shared.output().print(&report.json(), || report.text())?;
        if report.is_clean() { Ok(()) } else { Err(Failure::told(Exit::Failed)) }
    }
}

impl Common {
    /// Ten seconds when nothing else ends the run.
    fn load(&self, messages_default: Option<u64>) -> Result<Load, Failure> {
        let messages = self.messages.or(if self.duration.is_none() { messages_default } else { None });
        let endless = messages.is_none() && self.duration.is_none();
        Ok(Load {
            size: self.size,
            batch: self.batch,
            in_flight: self.in_flight,
            rate: self.rate,
            messages,
            duration: if endless { Some(Duration::from_secs(10)) } else { self.duration.map(duration) },
            delays: self.delays,
            seed: match self.seed {
                Some(seed) => seed,
                None => crate::random::number()?,
            },
        })
    }

    fn topics(&self, namespace: NamespaceName) -> TopicPlan {
        TopicPlan {
            namespace,
            prefix: self.topic.clone(),
            topics: self.topics,
            partitions: self.partitions,
            durability: self.durability,
            keep: self.keep_topics,
        }
    }

    fn publish(&self, namespace: NamespaceName) -> Result<PublishOptions, Failure> {
        Ok(PublishOptions { load: self.load(None)?, topics: self.topics(namespace) })
    }
}

impl Deliver {
    fn options(&self, namespace: NamespaceName) -> Result<DeliverOptions, Failure> {
        Ok(DeliverOptions {
            load: self.common.load(Some(1_000_000))?,
            topics: self.common.topics(namespace),
            consumers: self.consuming.consumers,
            credit: self.consuming.credit,
            drain: duration(self.consuming.drain),
        })
    }
}

impl EndToEnd {
    fn options(&self, namespace: NamespaceName) -> Result<EndToEndOptions, Failure> {
        Ok(EndToEndOptions {
            load: self.common.load(None)?,
            topics: self.common.topics(namespace),
            subscriptions: self.subscriptions,
            consumers: self.consuming.consumers,
            credit: self.consuming.credit,
            drain: duration(self.consuming.drain),
        })
    }
}

/// A broker of our own, ended and cleaned up with this value whatever happens.
struct Spawned {
    child: Child,
    address: String,
    data: TempDir,
}

impl Spawned {
    async fn start(common: &Common) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| Failure::new(Exit::Failed, format!("cannot start a broker: {error}"));
        let data = tempfile::Builder::new().prefix("punctual-bench-").tempdir_in(&common.spawn_in).map_err(fail)?;
        let mut command = Command::new(std::env::current_exe().map_err(fail)?);
        command.args(["serve", "--json", "--http", "off", "--grpc", "127.0.0.1:0", "--log-level", "warn", "--data"]);
        command.arg(data.path()).args(&common.serve_flag);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().map_err(fail)?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            let mut stdout = BufReader::new(stdout);
            // When it does not come up in time it is killed with `child`.
            tokio::time::timeout(SPAWN_PATIENCE, stdout.read_line(&mut said))
                .await
                .map_err(|_| Failure::new(Exit::Failed, "the broker of our own did not listen in time"))?
                .map_err(fail)?;
        }
        let banner: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        match banner.get("grpc").and_then(|address| address.as_str()) {
            Some(address) => Ok(Self { child, address: address.to_owned(), data }),
            None => Err(Failure::new(Exit::Failed, "the broker of our own did not start")),
        }
    }

    /// Kills it: what it holds is thrown away.
    async fn end(mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        Ok(self.data.close()?)
    }
}
