//! `bench deliver`: a backlog that has come due is drained.

use std::{sync::Arc, time::Duration};

use punctual_broker_api::Broker;

use crate::{
    BenchError, Load, Report, TopicPlan,
    consumer::patience,
    end_to_end::{ConsumerPlan, Consumers},
    publish::describe,
    publisher::{Issued, publish_load},
    report::PublishSide,
    stopwatch::Stopwatch,
};

/// What to run.
#[derive(Clone, Debug)]
pub struct DeliverOptions {
    /// The backlog; published before the clock starts.
    pub load: Load,
    /// Where.
    pub topics: TopicPlan,
    /// Consumers that share the backlog.
    pub consumers: u32,
    /// Messages that may be on their way to a consumer.
    pub credit: u32,
    /// How long the backlog may take.
    pub drain: Duration,
}

/// Publishes a backlog, then drains it through one subscription.
///
/// # Errors
/// When the options do not fit together or the broker refuses what the run needs.
pub async fn deliver(options: DeliverOptions, connections: &[Arc<dyn Broker>]) -> Result<Report, BenchError> {
    options.load.check(connections.len())?;
    let Some(first) = connections.first() else { return Err(BenchError::Options("no connection".to_owned())) };
    let run = options.load.seed;
    let topics = options.topics.make(first, run, 1).await?;
    let issued = Issued::new(connections.len());
    let watch = Stopwatch::start();
    let published = publish_load(connections, &topics, &options.load, run, watch, &issued).await?;
    let consumers = Consumers::start(&ConsumerPlan {
        connections,
        topics: &topics,
        subscriptions: 1,
        consumers: options.consumers,
        credit: options.credit,
        run,
        issued,
        watch,
        producers: connections.len(),
    })?;
    let consumed = consumers.finish(&published, patience(options.load.delays.longest(), options.drain)).await?;
    options.topics.remove(first, topics).await?;
    let mut described = describe(&options.load, &options.topics, connections.len());
    described.insert("consumers", options.consumers.to_string());
    Ok(Report { run: "deliver", options: described, published: Some(PublishSide::of(&published)), consumed })
}
