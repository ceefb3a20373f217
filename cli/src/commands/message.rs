//! One message by id or key: `get`, `cancel`, `deliver`, `reschedule`.

use clap::Args;
use punctual_broker_api::{
    CancelOutcome, DelayMs, DeliverNowOutcome, Handle, MessageId, MessageView, RescheduleOutcome, Time, TopicName,
    When, parse_duration,
    time_text::{format_time, parse_time},
};
use serde_json::{Value, json};

use crate::{
    connection::Connection,
    exit::Exit,
    failure::Failure,
    json,
    output::Output,
    table::{body_preview, or_dash},
};

/// Which message.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// The topic
    #[arg(value_parser = TopicName::parse)]
    topic: TopicName,
    /// The message's id
    #[arg(required_unless_present = "key", conflicts_with = "key")]
    id: Option<String>,
    /// The message's key, instead of its id
    #[arg(long)]
    key: Option<String>,
    /// The ordering key that a keyed message was published with
    #[arg(long, requires = "key")]
    ordering_key: Option<String>,
}

impl Which {
    fn handle(&self) -> Handle {
        match (&self.key, &self.id) {
            (Some(key), _) => Handle::Key { key: key.clone(), ordering_key: self.ordering_key.clone() },
            (None, id) => Handle::Id(MessageId::new(id.as_deref().unwrap_or_default())),
        }
    }
}

/// Prints an outcome; one that says "not done" is also a refusal.
fn outcome(output: Output, word: &str, deliver_at: Option<Time>, done: bool) -> Result<(), Failure> {
    let mut object = json!({"outcome": word});
    if let (Some(time), Value::Object(map)) = (deliver_at, &mut object) {
        map.insert("deliver_at".to_owned(), format_time(time).into());
    }
    output.print(&object, || match deliver_at {
        Some(time) => format!("{word} to {}", format_time(time)),
        None => word.to_owned(),
    })?;
    if done { Ok(()) } else { Err(Failure::told(Exit::Refused)) }
}

/// `punctual get`
#[derive(Args, Debug)]
pub(crate) struct Get {
    #[command(flatten)]
    which: Which,
}

impl Get {
    /// Shows the message.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let topic = connection.topic(&self.which.topic);
        let view = connection.broker.get(topic, self.which.handle()).await?;
        connection.shared.output().print(&json::view(&view), || text(&view))
    }
}

fn text(view: &MessageView) -> String {
    let mut lines = vec![
        format!("id            {}", view.id),
        format!("state         {}", view.state.as_str()),
        format!("deliver_at    {}", format_time(view.deliver_at)),
        format!("published_at  {}", format_time(view.published_at)),
        format!("key           {}", or_dash(view.key.as_ref())),
        format!("tag           {}", or_dash(view.tag.as_ref())),
        format!("priority      {}", view.priority),
    ];
    lines.extend(view.headers.iter().map(|(name, value)| format!("header        {name}={value}")));
    lines.extend(view.subscriptions.iter().map(|progress| {
        let state = progress.state.as_str();
        format!("subscription  {}: {state}, attempts {}", progress.subscription, progress.attempts)
    }));
    if let Some(body) = &view.body {
        lines.push(format!("body          {}", body_preview(body)));
    }
    lines.join("\n")
}

/// `punctual cancel`
#[derive(Args, Debug)]
pub(crate) struct Cancel {
    #[command(flatten)]
    which: Which,
}

impl Cancel {
    /// Cancels the message.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let topic = connection.topic(&self.which.topic);
        let output = connection.shared.output();
        match connection.broker.cancel(topic, self.which.handle()).await? {
            CancelOutcome::Cancelled => outcome(output, "cancelled", None, true),
            CancelOutcome::TooLate => outcome(output, "too_late", None, false),
            CancelOutcome::NotFound => outcome(output, "not_found", None, false),
        }
    }
}

/// `punctual deliver`
#[derive(Args, Debug)]
pub(crate) struct Deliver {
    #[command(flatten)]
    which: Which,
}

impl Deliver {
    /// Makes the message due now.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let topic = connection.topic(&self.which.topic);
        let output = connection.shared.output();
        match connection.broker.deliver_now(topic, self.which.handle()).await? {
            DeliverNowOutcome::DeliveredNow => outcome(output, "delivered_now", None, true),
            DeliverNowOutcome::TooLate => outcome(output, "too_late", None, false),
            DeliverNowOutcome::NotFound => outcome(output, "not_found", None, false),
        }
    }
}

/// `punctual reschedule`
#[derive(Args, Debug)]
pub(crate) struct Reschedule {
    #[command(flatten)]
    which: Which,
    /// Deliver it so long from now, such as 5m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, required_unless_present = "at",
        conflicts_with = "at")]
    delay: Option<DelayMs>,
    /// Deliver it at that time: RFC 3339, or Unix milliseconds
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<Time>,
}

impl Reschedule {
    /// Moves the message.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let topic = connection.topic(&self.which.topic);
        let output = connection.shared.output();
        let when = match (self.delay, self.at) {
            (Some(delay), _) => When::Delay(delay),
            (None, Some(time)) => When::At(time),
            (None, None) => When::Now,
        };
        match connection.broker.reschedule(topic, self.which.handle(), when).await? {
            RescheduleOutcome::Rescheduled { deliver_at } => outcome(output, "rescheduled", Some(deliver_at), true),
            RescheduleOutcome::TooLate => outcome(output, "too_late", None, false),
            RescheduleOutcome::NotFound => outcome(output, "not_found", None, false),
        }
    }
}
