//! `punctual clock`: the broker's time.

use clap::Subcommand;
use punctual_broker_api::{DelayMs, parse_duration, time_text::format_time};

use crate::{connection::Connection, failure::Failure, json};

/// What to do with the clock.
#[derive(Debug, Subcommand)]
pub(crate) enum Clock {
    /// Show broker time and wall time
    Show,
    /// Take the wall clock's time for the broker's, forward only, and end a hold
    Accept,
    /// Move a manual clock ahead; answers when everything due by then has been offered
    Advance {
        /// How far, such as 15m
        #[arg(value_parser = parse_duration)]
        by: DelayMs,
    },
}

impl Clock {
    /// Does it and shows the clock.
    pub(crate) async fn run(self, connection: Connection) -> Result<(), Failure> {
        let view = match self {
            Self::Show => connection.broker.clock().await?,
            Self::Accept => connection.broker.accept_clock().await?,
            Self::Advance { by } => connection.broker.advance_clock(by).await?,
        };
        connection.shared.output().print(&json::clock(&view), || {
            let held = if view.held { ", held until `punctual clock accept`" } else { "" };
            let now = format_time(view.now);
            let wall = format_time(view.wall);
            format!("now   {now}\nwall  {wall}\nmode  {}{held}", view.mode.as_str())
        })
    }
}
