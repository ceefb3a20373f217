//! `consume --exec`: one message, one run of a shell command, one ack or nack.

use std::{
    os::fd::AsFd as _,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use punctual_broker_api::{
    AckOutcome, Broker, DelayMs, Delivery, Error, ExtendOutcome, Kind, NackOutcome, NackRequest, SubscriptionPath,
};
use serde_json::json;
use tokio::{io::AsyncWriteExt as _, process::Command};

use super::consume::variables;
use crate::{exit::Exit, failure::Failure, output::Output, stopwatch::pause};

/// A lease is extended after this part of it, so that one failed attempt leaves time for another.
const EXTEND_AFTER_PART: u32 = 3;
/// The shortest time between two extensions.
const EXTEND_EVERY_MIN: Duration = Duration::from_millis(300);

/// Runs a command per message.
pub(crate) struct Exec {
    /// The broker.
    pub broker: Arc<dyn Broker>,
    /// The subscription.
    pub path: SubscriptionPath,
    /// Where the outcome is printed with `--json`.
    pub output: Output,
    /// The command, for `sh -c`.
    pub command: String,
}

impl Exec {
    /// Runs the command on a message and settles the message. Answers whether it is settled;
    /// if not it will be delivered again, and that has been said.
    ///
    /// # Errors
    /// When the command cannot be started at all: the next message would fare no better.
    pub(crate) async fn run(&self, delivery: Delivery) -> Result<bool, Failure> {
        let status = self.run_command(&delivery).await?;
        let outcome = match self.settle(&delivery, status).await {
            Ok(outcome) => outcome,
            Err(error) if matches!(error.kind(), Kind::Unavailable | Kind::UnknownOutcome) => {
                self.output.note(&format!("message {} may come again: {error}", delivery.id));
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        if self.output.json {
            let object = json!({
                "id": delivery.id.as_str(), "attempt": delivery.attempt, "exit_status": status.code(),
                "outcome": outcome,
            });
            self.output.print(&object, String::new)?;
        }
        let settled = outcome != "lease_lost" && outcome != "invalid";
        if !settled {
            self.output.note(&format!("message {} is not settled: {outcome}", delivery.id));
        }
        Ok(settled)
    }

    async fn run_command(&self, delivery: &Delivery) -> Result<ExitStatus, Failure> {
        let fail =
            |error: std::io::Error| Failure::new(Exit::Failed, format!("cannot run `{}`: {error}", self.command));
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::piped()).kill_on_drop(true);
        if self.output.json {
            // Standard output carries one object a line and nothing else.
            command.stdout(std::io::stderr().as_fd().try_clone_to_owned().map_err(fail)?);
        }
        for (name, value) in variables(delivery) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command.spawn().map_err(fail)?;
        let mut stdin = child.stdin.take();
        let feeding = async {
            if let Some(mut stdin) = stdin.take() {
                // A command that does not read its input is free to do so: the pipe then breaks.
                let _ = stdin.write_all(&delivery.body).await;
            }
            child.wait().await
        };
        tokio::select! {
            status = feeding => status.map_err(fail),
            never = self.keep_lease(delivery) => match never {},
        }
    }

    /// Extends the lease again and again.
    async fn keep_lease(&self, delivery: &Delivery) -> std::convert::Infallible {
        let lease = delivery.lease_expires_at.since(delivery.delivered_at);
        let every = (Duration::from_millis(lease.ms()) / EXTEND_AFTER_PART).max(EXTEND_EVERY_MIN);
        let mut said = false;
        loop {
            pause(every).await;
            let lost = match self.extend(delivery, lease).await {
                Ok(ExtendOutcome::Extended { .. }) => None,
                Ok(ExtendOutcome::LeaseLost | ExtendOutcome::Invalid) => Some("it is lost".to_owned()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = lost.filter(|_| !said) {
                self.output.note(&format!("cannot extend the lease of message {}: {why}", delivery.id));
                said = true;
            }
        }
    }

    async fn extend(&self, delivery: &Delivery, lease: DelayMs) -> Result<ExtendOutcome, Error> {
        let outcomes = self.broker.extend(self.path.clone(), vec![delivery.receipt.clone()], lease).await?;
        Ok(outcomes.into_iter().next().unwrap_or(ExtendOutcome::Invalid))
    }

    async fn settle(&self, delivery: &Delivery, status: ExitStatus) -> Result<&'static str, Error> {
        let receipts = vec![delivery.receipt.clone()];
        if status.success() {
            let outcomes = self.broker.ack(self.path.clone(), receipts).await?;
            return Ok(match outcomes.into_iter().next().unwrap_or(AckOutcome::Invalid) {
                AckOutcome::Acked => "acked",
                AckOutcome::LeaseLost => "lease_lost",
                AckOutcome::Invalid => "invalid",
            });
        }
        // `ExitStatus` says "exit status: 3" or "signal: 9 (SIGKILL)".
        let request = NackRequest { receipts, delay: None, error: Some(format!("command ended with {status}")) };
        let outcomes = self.broker.nack(self.path.clone(), request).await?;
        Ok(match outcomes.into_iter().next().unwrap_or(NackOutcome::Invalid) {
            NackOutcome::Retry => "retry",
            NackOutcome::DeadLettered => "dead_lettered",
            NackOutcome::LeaseLost => "lease_lost",
            NackOutcome::Invalid => "invalid",
        })
    }
}
