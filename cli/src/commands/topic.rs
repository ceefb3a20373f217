//! `punctual topic`: list, show, make or change, delete.

use clap::{Args, Subcommand};
use punctual_broker_api::{
    DelayMs, Durability, OnExpiry, PageRequest, TopicName, TopicPatch, TopicView, parse_duration,
};
use serde_json::json;

use super::{
    fields,
    patch::{one_of, patch},
};
use crate::{connection::Connection, failure::Failure, json, output::Output, table};

/// Names of one page.
pub(crate) const PAGE: u32 = 1000;

/// What to do with topics.
#[derive(Debug, Subcommand)]
pub(crate) enum Topic {
    /// List the topics
    Ls,
    /// Show a topic
    Show {
        /// The topic
        #[arg(value_parser = TopicName::parse)]
        topic: TopicName,
    },
    /// Make a topic, or change its settings
    Set(Set),
    /// Delete a topic with all its messages and subscriptions
    Rm {
        /// The topic
        #[arg(value_parser = TopicName::parse)]
        topic: TopicName,
    },
}

/// `punctual topic set`
#[derive(Args, Debug)]
pub(crate) struct Set {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    /// Partitions, fixed when the topic is made
    #[arg(long, value_name = "N")]
    partitions: Option<u16>,
    /// Priorities
    #[arg(long, value_name = "N")]
    priorities: Option<u16>,
    /// When replies leave: sync, async or memory
    #[arg(long, value_name = "WHEN", value_parser = durability)]
    durability: Option<Durability>,
    /// How long a message is kept after its due time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retention: Option<DelayMs>,
    /// How long a settled message is kept for readers of the log
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    keep_acked: Option<DelayMs>,
    /// What becomes of what expires: drop or dead_letter
    #[arg(long, value_name = "WHAT", value_parser = on_expiry)]
    on_expiry: Option<OnExpiry>,
    /// How long a dedup id is remembered
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    dedup_window: Option<DelayMs>,
    /// Put a setting back to its default
    #[arg(long, value_name = "SETTING", value_parser = ["priorities", "durability", "retention", "keep_acked",
        "on_expiry", "dedup_window"])]
    reset: Vec<String>,
}

fn durability(text: &str) -> Result<Durability, String> {
    one_of(&[Durability::Sync, Durability::Async, Durability::Memory].map(|value| (value.as_str(), value)), text)
}

fn on_expiry(text: &str) -> Result<OnExpiry, String> {
    one_of(&[OnExpiry::Drop, OnExpiry::DeadLetter].map(|value| (value.as_str(), value)), text)
}

impl Topic {
    /// Does it.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let output = connection.shared.output();
        match self {
            Self::Ls => list(&connection).await,
            Self::Show { topic } => {
                let view = connection.broker.get_topic(connection.topic(&topic)).await?;
                show(output, &view)
            }
            Self::Set(set) => {
                let topic = connection.topic(&set.topic);
                let put = connection.broker.put_topic(topic, set.patch()).await?;
                show(output, &put.object)
            }
            Self::Rm { topic } => {
                connection.broker.delete_topic(connection.topic(&topic)).await?;
                output.print(&json!({"deleted": topic.as_str()}), || format!("deleted {topic}"))
            }
        }
    }
}

impl Set {
    fn patch(self) -> TopicPatch {
        let reset = &self.reset;
        TopicPatch {
            partitions: patch(self.partitions, "partitions", reset),
            priorities: patch(self.priorities, "priorities", reset),
            durability: patch(self.durability, "durability", reset),
            retention: patch(self.retention, "retention", reset),
            keep_acked: patch(self.keep_acked, "keep_acked", reset),
            on_expiry: patch(self.on_expiry, "on_expiry", reset),
            dedup_window: patch(self.dedup_window, "dedup_window", reset),
        }
    }
}

async fn list(connection: &Connection) -> Result<(), Failure> {
    let output = connection.shared.output();
    let mut rows = Vec::new();
    let mut page = PageRequest { limit: PAGE, cursor: None };
    loop {
        let topics = connection.broker.list_topics(connection.shared.namespace.clone(), page.clone()).await?;
        for view in &topics.items {
            if output.json {
                output.print(&json::topic(view), String::new)?;
            }
            let stats = &view.stats;
            let counts =
                [stats.scheduled, stats.ready, stats.leased, stats.retrying, stats.dead].map(|n| n.to_string());
            let [scheduled, ready, leased, retrying, dead] = counts;
            rows.push([view.name.clone(), scheduled, ready, leased, retrying, dead]);
        }
        page.cursor = topics.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    if output.json {
        return Ok(());
    }
    let headings = ["TOPIC", "SCHEDULED", "READY", "LEASED", "RETRYING", "DEAD"];
    output.print(&json!({}), || table::render(headings, &rows))
}

fn show(output: Output, view: &TopicView) -> Result<(), Failure> {
    let object = json::topic(view);
    output.print(&object, || fields::text(&object))
}
