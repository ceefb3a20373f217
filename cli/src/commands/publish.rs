//! `punctual publish`: one message, or a file of them (in `lines`).

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use punctual_broker_api::{
    Code, DelayMs, Error, NewMessage, OnConflict, Time, TopicName, When, parse_duration,
    time_text::{format_time, parse_time},
};
use tokio::io::AsyncReadExt as _;

use super::lines::{LineOptions, publish_lines};
use crate::{connection::Connection, failure::Failure, json, message_line};

/// `punctual publish`
#[derive(Args, Debug)]
pub(crate) struct Publish {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    /// The body; `-` reads it from standard input
    #[arg(required_unless_present = "lines", conflicts_with = "lines")]
    body: Option<String>,
    /// Deliver so long from now, such as 15m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, group = "when")]
    delay: Option<DelayMs>,
    /// Deliver at that time: RFC 3339, or Unix milliseconds
    #[arg(long, value_name = "TIME", value_parser = parse_time, group = "when")]
    at: Option<Time>,
    /// Deliver by that level of the namespace's table, from 1
    #[arg(long, value_name = "N", group = "when")]
    level: Option<u32>,
    /// A handle of your own, unique among what is scheduled
    #[arg(long, conflicts_with = "lines")]
    key: Option<String>,
    /// When the key is taken: reject, replace or keep
    #[arg(long, value_name = "RULE", value_parser = on_conflict, default_value = "reject", hide_default_value = true)]
    on_conflict: OnConflict,
    /// Of several publishes with one id, one message is stored; with --lines a prefix, to which the
    /// line's number is added, so that the same file can be published again
    #[arg(long, value_name = "ID")]
    dedup_id: Option<String>,
    /// Messages with one ordering key go to one partition
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    /// A tag for filters
    #[arg(long)]
    tag: Option<String>,
    /// A header; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// From 0 to the topic's priorities - 1; higher goes first
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    priority: u8,
    /// Expire so long after the due time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    expires_after: Option<DelayMs>,
    /// Publish every line of a file, or of standard input with `-`: a JSON object is a message with
    /// the fields of the HTTP door, anything else is a body; empty lines are passed over
    #[arg(long, value_name = "FILE|-")]
    lines: Option<PathBuf>,
    #[command(flatten)]
    line_options: LineOptions,
}

pub(super) fn on_conflict(text: &str) -> Result<OnConflict, String> {
    message_line::on_conflict(text).map_err(|error| error.message)
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("is not NAME=VALUE".to_owned()),
    }
}

impl Publish {
    /// Publishes.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let topic = connection.topic(&self.topic);
        let template = self.template();
        if let Some(path) = self.lines {
            return publish_lines(connection, topic, path, template, self.line_options).await;
        }
        let body = match self.body.as_deref() {
            Some("-") => read_stdin(connection.broker.limits().body_bytes_max).await?,
            Some(text) => Bytes::copy_from_slice(text.as_bytes()),
            None => Bytes::new(),
        };
        let results = connection.broker.publish(topic, vec![NewMessage { body, ..template }]).await?;
        let result = results.into_iter().next();
        let published = result.unwrap_or_else(|| Err(Error::new(Code::Internal, "the broker answered no result")))?;
        connection.shared.output().print(&json::published(&published), || {
            let at = format_time(published.deliver_at);
            format!("{}  {}  {at}", published.id, json::status(&published.status))
        })
    }

    fn template(&self) -> NewMessage {
        let when = match (self.delay, self.at, self.level) {
            (Some(delay), _, _) => When::Delay(delay),
            (None, Some(time), _) => When::At(time),
            (None, None, Some(level)) => When::Level(level),
            (None, None, None) => When::Now,
        };
        NewMessage {
            body: Bytes::new(),
            when,
            key: self.key.clone(),
            on_conflict: self.on_conflict,
            dedup_id: self.dedup_id.clone(),
            ordering_key: self.ordering_key.clone(),
            tag: self.tag.clone(),
            headers: self.headers.clone(),
            priority: self.priority,
            expires_after: self.expires_after,
            prepare: None,
        }
    }
}

/// Reads standard input, no further than one byte over the limit: the broker refuses it then.
pub(super) async fn read_stdin(limit: usize) -> Result<Bytes, Failure> {
    let mut body = Vec::new();
    let bound = (limit as u64).saturating_add(1);
    tokio::io::stdin().take(bound).read_to_end(&mut body).await?;
    if body.len() > limit {
        let message = format!("standard input holds more than the {limit} bytes that a body may have");
        return Err(Error::new(Code::BodyTooLarge, message).with_field("body").into());
    }
    Ok(body.into())
}
