//! The command line: which commands there are and which options all of them share.

use clap::{Args, Parser, Subcommand};
use punctual_broker_api::NamespaceName;

use crate::{commands, output::Output, serve};

/// Punctual, a delayed-message broker: a message handed in now is delivered at its time, never
/// early, to every subscription, until it is acknowledged.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How to reach the broker and how to print.
    #[command(flatten)]
    pub shared: Shared,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Shared {
    /// The broker's gRPC address; 127.0.0.1:7801 when left out
    #[arg(long, global = true, value_name = "ADDR", env = "PUNCTUAL_SERVER")]
    pub server: Option<String>,
    /// The namespace
    #[arg(long, global = true, value_name = "NS", env = "PUNCTUAL_NAMESPACE", default_value = "default",
        value_parser = NamespaceName::parse)]
    pub namespace: NamespaceName,
    /// The bearer token, when the broker asks for one
    #[arg(long, global = true, value_name = "TOKEN", env = "PUNCTUAL_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Print one JSON object a line
    #[arg(long, global = true)]
    pub json: bool,
}

impl Shared {
    /// Where output goes.
    pub(crate) fn output(&self) -> Output {
        Output { json: self.json }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the broker
    Serve(serve::Flags),
    /// Publish a message, or a line each of a file
    Publish(Box<commands::publish::Publish>),
    /// Receive messages and acknowledge them
    Consume(commands::consume::Consume),
    /// Show a message
    Get(commands::message::Get),
    /// Cancel a scheduled message
    Cancel(commands::message::Cancel),
    /// Deliver a scheduled message now
    Deliver(commands::message::Deliver),
    /// Move a scheduled message to another time
    Reschedule(commands::message::Reschedule),
    /// List what is scheduled, in due order
    Scheduled(commands::pending::Scheduled),
    /// Count what is scheduled, by time
    Timeline(commands::pending::Timeline),
    /// Topics
    #[command(subcommand)]
    Topic(commands::topic::Topic),
    /// Subscriptions
    #[command(subcommand)]
    Sub(Box<commands::subscription::Subscription>),
    /// Namespaces
    #[command(subcommand)]
    Ns(commands::namespace::Namespace),
    /// Recurring schedules
    #[command(subcommand)]
    Schedule(commands::schedule::Schedule),
    /// The broker's clock
    #[command(subcommand)]
    Clock(commands::clock::Clock),
    /// Check a data directory that no broker has open
    Check(commands::check::Check),
    /// Measure a broker
    #[command(subcommand)]
    Bench(commands::bench::Bench),
}
