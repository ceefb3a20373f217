//! `punctual ns`: list, show, make or change, delete.

use clap::{Args, Subcommand};
use punctual_broker_api::{
    DelayMs, Kind, NamespaceLimits, NamespaceName, NamespacePatch, NamespaceView, PageRequest, Patch, parse_duration,
};
use serde_json::json;

use super::{fields, patch::patch, topic::PAGE};
use crate::{connection::Connection, failure::Failure, json, output::Output, table};

/// What to do with namespaces.
#[derive(Debug, Subcommand)]
pub(crate) enum Namespace {
    /// List the namespaces
    Ls,
    /// Show a namespace
    Show {
        /// The namespace
        #[arg(value_parser = NamespaceName::parse)]
        name: NamespaceName,
    },
    /// Make a namespace, or change its settings
    Set(Set),
    /// Delete a namespace with everything in it
    Rm {
        /// The namespace
        #[arg(value_parser = NamespaceName::parse)]
        name: NamespaceName,
    },
}

/// `punctual ns set`
#[derive(Args, Debug)]
pub(crate) struct Set {
    /// The namespace
    #[arg(value_parser = NamespaceName::parse)]
    name: NamespaceName,
    /// The longest delay
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_delay: Option<DelayMs>,
    /// The table of delay levels, such as `5s,10s,30s`; the first is level 1
    #[arg(long, value_name = "DURATIONS", value_parser = parse_duration, value_delimiter = ',', num_args = 1..)]
    delay_levels: Option<Vec<DelayMs>>,
    /// Whether publishing and receiving make topics and subscriptions
    #[arg(long, value_name = "true|false")]
    auto_create: Option<bool>,
    #[command(flatten)]
    limits: LimitFlags,
    /// Put a setting back to its default; `limits` puts all four back
    #[arg(long, value_name = "SETTING", value_parser = ["max_delay", "delay_levels", "auto_create", "limits"])]
    reset: Vec<String>,
}

#[derive(Args, Debug)]
struct LimitFlags {
    /// At most so many scheduled messages
    #[arg(long, value_name = "N")]
    max_scheduled: Option<u64>,
    /// At most so many messages past the line and not settled
    #[arg(long, value_name = "N")]
    max_ready: Option<u64>,
    /// At most so many bytes of both
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// At most so many messages accepted a second
    #[arg(long, value_name = "N")]
    publish_per_second: Option<u64>,
}

impl LimitFlags {
    fn any(&self) -> bool {
        let given = [self.max_scheduled, self.max_ready, self.max_bytes, self.publish_per_second];
        given.iter().any(Option::is_some)
    }

    fn over(&self, current: NamespaceLimits) -> NamespaceLimits {
        NamespaceLimits {
            max_scheduled: self.max_scheduled.or(current.max_scheduled),
            max_ready: self.max_ready.or(current.max_ready),
            max_bytes: self.max_bytes.or(current.max_bytes),
            publish_per_second: self.publish_per_second.or(current.publish_per_second),
        }
    }
}

impl Namespace {
    /// Does it.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let output = connection.shared.output();
        match self {
            Self::Ls => list(&connection).await,
            Self::Show { name } => show(output, &connection.broker.get_namespace(name).await?),
            Self::Set(set) => {
                let name = set.name.clone();
                let patch = set.patch(&connection).await?;
                show(output, &connection.broker.put_namespace(name, patch).await?.object)
            }
            Self::Rm { name } => {
                connection.broker.delete_namespace(name.clone()).await?;
                output.print(&json!({"deleted": name.as_str()}), || format!("deleted {name}"))
            }
        }
    }
}

impl Set {
    async fn patch(self, connection: &Connection) -> Result<NamespacePatch, Failure> {
        Ok(NamespacePatch {
            max_delay: patch(self.max_delay, "max_delay", &self.reset),
            delay_levels: patch(self.delay_levels, "delay_levels", &self.reset),
            auto_create: patch(self.auto_create, "auto_create", &self.reset),
            limits: if self.limits.any() {
                // The broker takes all four limits at once, so those not named are carried over.
                let resets = self.reset.iter().any(|field| field == "limits");
                let current =
                    if resets { NamespaceLimits::default() } else { current(connection, self.name.clone()).await? };
                Patch::Set(self.limits.over(current))
            } else {
                patch(None, "limits", &self.reset)
            },
        })
    }
}

async fn current(connection: &Connection, name: NamespaceName) -> Result<NamespaceLimits, Failure> {
    match connection.broker.get_namespace(name).await {
        Ok(view) => Ok(view.settings.limits),
        Err(error) if error.kind() == Kind::NotFound => Ok(NamespaceLimits::default()),
        Err(error) => Err(error.into()),
    }
}

async fn list(connection: &Connection) -> Result<(), Failure> {
    let output = connection.shared.output();
    let mut rows = Vec::new();
    let mut page = PageRequest { limit: PAGE, cursor: None };
    loop {
        let found = connection.broker.list_namespaces(page.clone()).await?;
        for view in &found.items {
            if output.json {
                output.print(&json::namespace(view), String::new)?;
            }
            rows.push([view.name.clone(), view.topics.to_string()]);
        }
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    if output.json {
        return Ok(());
    }
    output.print(&json!({}), || table::render(["NAMESPACE", "TOPICS"], &rows))
}

fn show(output: Output, view: &NamespaceView) -> Result<(), Failure> {
    let object = json::namespace(view);
    output.print(&object, || fields::text(&object))
}
