//! The commands, a file each.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod clock;
pub(crate) mod consume;
pub(crate) mod exec;
pub(crate) mod fields;
pub(crate) mod lines;
pub(crate) mod message;
pub(crate) mod namespace;
pub(crate) mod patch;
pub(crate) mod pending;
pub(crate) mod publish;
pub(crate) mod schedule;
pub(crate) mod subscription;
pub(crate) mod topic;

use crate::{
    args::{Arguments, Command},
    connection::Connection,
    failure::Failure,
    serve,
};

/// Runs a command.
///
/// # Errors
/// With the exit code that says why it was not done.
pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { command, shared } = arguments;
    match command {
        Command::Serve(flags) => Box::pin(serve::serve(flags, shared.output())).await,
        Command::Check(check) => Box::pin(check.run(shared.output())).await,
        Command::Bench(bench) => Box::pin(bench.run(shared)).await,
        Command::Publish(publish) => Box::pin(publish.run(Connection::open(shared).await?)).await,
        Command::Consume(consume) => Box::pin(consume.run(Connection::open(shared).await?)).await,
        Command::Get(get) => get.run(Connection::open(shared).await?).await,
        Command::Cancel(cancel) => cancel.run(Connection::open(shared).await?).await,
        Command::Deliver(deliver) => deliver.run(Connection::open(shared).await?).await,
        Command::Reschedule(reschedule) => reschedule.run(Connection::open(shared).await?).await,
        Command::Scheduled(scheduled) => scheduled.run(Connection::open(shared).await?).await,
        Command::Timeline(timeline) => timeline.run(Connection::open(shared).await?).await,
        Command::Topic(topic) => topic.run(Connection::open(shared).await?).await,
        Command::Sub(subscription) => subscription.run(Connection::open(shared).await?).await,
        Command::Ns(namespace) => namespace.run(Connection::open(shared).await?).await,
        Command::Schedule(schedule) => schedule.run(Connection::open(shared).await?).await,
        Command::Clock(clock) => clock.run(Connection::open(shared).await?).await,
    }
}
