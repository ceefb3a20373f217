//! `bench publish`: how fast messages go in.

use std::sync::Arc;

use punctual_broker_api::Broker;

use crate::{
    BenchError, Load, Report, TopicPlan,
    publisher::{Issued, publish_load},
    report::PublishSide,
    stopwatch::Stopwatch,
};

/// What to run.
#[derive(Clone, Debug)]
pub struct PublishOptions {
    /// What is published.
    pub load: Load,
    /// Where.
    pub topics: TopicPlan,
}

/// Publishes the load over the connections, one producer each.
///
/// # Errors
/// When the options do not fit together or the broker refuses to make the topics.
pub async fn publish(options: PublishOptions, connections: &[Arc<dyn Broker>]) -> Result<Report, BenchError> {
    options.load.check(connections.len())?;
    let Some(first) = connections.first() else { return Err(BenchError::Options("no connection".to_owned())) };
    let run = options.load.seed;
    let topics = options.topics.make(first, run, 0).await?;
    let issued = Issued::new(connections.len());
    let published = publish_load(connections, &topics, &options.load, run, Stopwatch::start(), &issued).await?;
    options.topics.remove(first, topics).await?;
    let options = describe(&options.load, &options.topics, connections.len());
    Ok(Report { run: "publish", options, published: Some(PublishSide::of(&published)), consumed: Vec::new() })
}

/// The options that matter.
pub(crate) fn describe(
    load: &Load,
    topics: &TopicPlan,
    connections: usize,
) -> std::collections::BTreeMap<&'static str, String> {
    [
        ("size", load.size.to_string()),
        ("batch", load.batch.to_string()),
        ("in_flight", load.in_flight.to_string()),
        ("connections", connections.to_string()),
        ("rate", load.rate.map_or_else(|| "max".to_owned(), |rate| rate.to_string())),
        ("delays", load.delays.to_string()),
        ("topics", topics.topics.to_string()),
        ("partitions", topics.partitions.to_string()),
        ("durability", topics.durability.as_str().to_owned()),
        ("seed", load.seed.to_string()),
    ]
    .into()
}
