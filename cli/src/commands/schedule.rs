//! `punctual schedule`: list, show, make or change, delete, pause, resume, trigger.

use bytes::Bytes;
use clap::{Args, Subcommand};
use punctual_broker_api::{
    CatchUp, DelayMs, NewMessage, OnConflict, PageRequest, Patch, ScheduleName, SchedulePatch, SchedulePath,
    ScheduleView, Time, TopicName, parse_duration,
    time_text::{format_time, parse_time},
};
use serde_json::json;

use super::{
    fields,
    patch::{one_of, patch},
    publish::{header, on_conflict, read_stdin},
    topic::PAGE,
};
use crate::{connection::Connection, failure::Failure, json, output::Output, table};

/// What to do with recurring schedules.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedule {
    /// List the schedules
    Ls,
    /// Show a schedule
    Show(Which),
    /// Make a schedule, or change it
    Set(Box<Set>),
    /// Delete a schedule; messages that it has published stay
    Rm(Which),
    /// Stop it
    Pause(Which),
    /// Start it again; what would have run meanwhile is not made up for
    Resume(Which),
    /// Publish a run now; the regular times stay as they are
    Trigger(Which),
}

/// Which schedule.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// The schedule
    #[arg(value_parser = ScheduleName::parse)]
    schedule: ScheduleName,
}

/// `punctual schedule set`
#[derive(Args, Debug)]
pub(crate) struct Set {
    #[command(flatten)]
    which: Which,
    /// The body of each run; `-` reads it from standard input. It and the flags of messages replace
    /// the whole message
    body: Option<String>,
    /// The topic that its runs go to
    #[arg(long, value_parser = TopicName::parse)]
    topic: Option<TopicName>,
    /// When it runs: five fields (minute, hour, day of the month, month, day of the week) or six (a
    /// second before them)
    #[arg(long, value_name = "FIELDS", conflicts_with = "every")]
    cron: Option<String>,
    /// The time zone of --cron, such as Europe/Berlin; UTC when left out
    #[arg(long, value_name = "ZONE", conflicts_with = "every")]
    timezone: Option<String>,
    /// Run every so often, such as 15m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    every: Option<DelayMs>,
    /// No run before that time: RFC 3339, or Unix milliseconds
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    start: Option<Time>,
    /// Runs only before that time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    end: Option<Time>,
    /// End after so many runs
    #[arg(long, value_name = "N")]
    max_runs: Option<u64>,
    /// How much later than its time a run may be due
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    jitter: Option<DelayMs>,
    /// What to do about runs missed while the broker was down: none, last or all
    #[arg(long, value_name = "WHICH", value_parser = catch_up)]
    catch_up: Option<CatchUp>,
    /// The message's handle, unique among what is scheduled
    #[arg(long)]
    key: Option<String>,
    /// When the key is taken: reject, replace or keep
    #[arg(long, value_name = "RULE", value_parser = on_conflict)]
    on_conflict: Option<OnConflict>,
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
    #[arg(long, value_name = "N")]
    priority: Option<u8>,
    /// Expire so long after the due time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    expires_after: Option<DelayMs>,
    /// Put a setting back to its default
    #[arg(long, value_name = "SETTING", value_parser = ["message", "timezone", "start", "end", "max_runs", "jitter",
        "catch_up"])]
    reset: Vec<String>,
}

fn catch_up(text: &str) -> Result<CatchUp, String> {
    one_of(&[CatchUp::None, CatchUp::Last, CatchUp::All].map(|value| (value.as_str(), value)), text)
}

impl Which {
    fn path(&self, connection: &Connection) -> SchedulePath {
        SchedulePath { namespace: connection.shared.namespace.clone(), schedule: self.schedule.clone() }
    }
}

impl Schedule {
    /// Does it.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let output = connection.shared.output();
        let broker = &connection.broker;
        match self {
            Self::Ls => list(&connection).await,
            Self::Show(which) => show(output, &broker.get_schedule(which.path(&connection)).await?),
            Self::Set(set) => {
                let path = set.which.path(&connection);
                let body = match set.body.as_deref() {
                    Some("-") => Some(read_stdin(broker.limits().body_bytes_max).await?),
                    Some(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
                    None => None,
                };
                show(output, &broker.put_schedule(path, set.patch(body)).await?.object)
            }
            Self::Rm(which) => {
                broker.delete_schedule(which.path(&connection)).await?;
                let name = which.schedule.as_str();
                output.print(&json!({"deleted": name}), || format!("deleted {name}"))
            }
            Self::Pause(which) => show(output, &broker.set_schedule_paused(which.path(&connection), true).await?),
            Self::Resume(which) => show(output, &broker.set_schedule_paused(which.path(&connection), false).await?),
            Self::Trigger(which) => show(output, &broker.trigger_schedule(which.path(&connection)).await?),
        }
    }
}

impl Set {
    fn patch(self, body: Option<Bytes>) -> SchedulePatch {
        let has_body = body.is_some();
        let message = NewMessage {
            body: body.unwrap_or_default(),
            key: self.key,
            on_conflict: self.on_conflict.unwrap_or_default(),
            ordering_key: self.ordering_key,
            tag: self.tag,
            headers: self.headers,
            priority: self.priority.unwrap_or_default(),
            expires_after: self.expires_after,
            ..NewMessage::default()
        };
        let is_given = has_body || message != NewMessage::default();
        let reset = &self.reset;
        SchedulePatch {
            topic: patch(self.topic, "topic", reset),
            message: patch(is_given.then_some(message), "message", reset),
            cron: patch(self.cron, "cron", reset),
            timezone: patch(self.timezone, "timezone", reset),
            every: patch(self.every, "every", reset),
            start: patch(self.start, "start", reset),
            end: patch(self.end, "end", reset),
            max_runs: patch(self.max_runs, "max_runs", reset),
            jitter: patch(self.jitter, "jitter", reset),
            catch_up: patch(self.catch_up, "catch_up", reset),
            paused: Patch::Keep,
        }
    }
}

async fn list(connection: &Connection) -> Result<(), Failure> {
    let output = connection.shared.output();
    let mut rows = Vec::new();
    let mut page = PageRequest { limit: PAGE, cursor: None };
    loop {
        let found = connection.broker.list_schedules(connection.shared.namespace.clone(), page.clone()).await?;
        for view in &found.items {
            if output.json {
                output.print(&json::schedule(view), String::new)?;
            }
            rows.push(row(view));
        }
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    if output.json {
        return Ok(());
    }
    let headings = ["SCHEDULE", "TOPIC", "WHEN", "STATE", "RUNS", "NEXT"];
    output.print(&json!({}), || table::render(headings, &rows))
}

fn row(view: &ScheduleView) -> [String; 6] {
    let settings = &view.settings;
    let when = match (&settings.cron, &settings.timezone, settings.every) {
        (Some(cron), Some(zone), _) => format!("{cron} {zone}"),
        (Some(cron), None, _) => cron.clone(),
        (None, _, Some(every)) => format!("every {every}"),
        (None, _, None) => String::new(),
    };
    let state = match (settings.paused, view.next.is_empty()) {
        (true, _) => "paused",
        (false, true) => "ended",
        (false, false) => "running",
    };
    let next = view.next.first().copied().map_or_else(|| "-".to_owned(), format_time);
    [view.name.clone(), settings.topic.to_string(), when, state.to_owned(), view.runs.to_string(), next]
}

fn show(output: Output, view: &ScheduleView) -> Result<(), Failure> {
    let object = json::schedule(view);
    output.print(&object, || fields::text(&object))
}
