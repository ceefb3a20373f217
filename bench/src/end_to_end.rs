//! `bench end-to-end`: messages go in with delays while subscriptions take them out.

use std::{sync::Arc, time::Duration};

use punctual_broker_api::{Broker, TopicPath};
use tokio::{sync::watch, task::JoinSet};

use crate::{
    BenchError, Load, Report, TopicPlan,
    consumer::{ConsumerTask, Group, patience},
    limits,
    publish::describe,
    publisher::{Issued, PublishedLoad, publish_load},
    report::{ConsumeSide, PublishSide},
    stopwatch::{Stopwatch, pause},
    topics::subscription_path,
};

/// What to run.
#[derive(Clone, Debug)]
pub struct EndToEndOptions {
    /// What is published.
    pub load: Load,
    /// Where.
    pub topics: TopicPlan,
    /// Subscriptions of each topic; each gets everything.
    pub subscriptions: u32,
    /// Consumers of each subscription.
    pub consumers: u32,
    /// Messages that may be on their way to a consumer.
    pub credit: u32,
    /// How long to wait after the last message is due before the missing ones are lost.
    pub drain: Duration,
}

/// Consumers of a run, by subscription number.
pub(crate) struct Consumers {
    groups: Vec<Arc<Group>>,
    tasks: JoinSet<Result<(), punctual_broker_api::Error>>,
    stop: watch::Sender<bool>,
    watch: Stopwatch,
}

/// What every consumer of a run shares.
pub(crate) struct ConsumerPlan<'a> {
    pub(crate) connections: &'a [Arc<dyn Broker>],
    pub(crate) topics: &'a [TopicPath],
    pub(crate) subscriptions: u32,
    pub(crate) consumers: u32,
    pub(crate) credit: u32,
    pub(crate) run: u64,
    pub(crate) issued: Arc<Issued>,
    pub(crate) watch: Stopwatch,
    pub(crate) producers: usize,
}

impl Consumers {
    pub(crate) fn start(plan: &ConsumerPlan<'_>) -> Result<Self, BenchError> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let mut groups = Vec::new();
        let mut connections = plan.connections.iter().cycle();
        for number in 0..plan.subscriptions {
            let group = Group::new(plan.run, plan.producers);
            for topic in plan.topics {
                for _ in 0..plan.consumers {
                    let Some(broker) = connections.next() else { continue };
                    let task = ConsumerTask {
                        broker: Arc::clone(broker),
                        path: subscription_path(topic, number)?,
                        group: Arc::clone(&group),
                        issued: Arc::clone(&plan.issued),
                        watch: plan.watch,
                        credit: plan.credit,
                        stop: stopped.clone(),
                    };
                    tasks.spawn(task.run());
                }
            }
            groups.push(group);
        }
        Ok(Self { groups, tasks, stop, watch: plan.watch })
    }

    /// Waits until every acknowledged message has come to every subscription, or patience ends;
    /// then ends the consumers and says what came.
    pub(crate) async fn finish(
        mut self,
        published: &PublishedLoad,
        patience: Duration,
    ) -> Result<Vec<ConsumeSide>, BenchError> {
        let waited_from = self.watch.now();
        let complete = |group: &Arc<Group>| group.received().missing(&published.acknowledged) == 0;
        while !self.groups.iter().all(complete) && self.watch.now().since(waited_from) < patience {
            // A consumer that ended before its time will not bring the rest.
            if let Some(ended) = self.tasks.try_join_next() {
                ended
                    .map_err(|error| BenchError::Options(format!("a consumer broke: {error}")))?
                    .map_err(BenchError::refused("subscribing"))?;
            }
            pause(limits::LOOK_EVERY).await;
        }
        // Nobody to tell when every consumer has ended already.
        let _ = self.stop.send(true);
        while let Some(ended) = self.tasks.join_next().await {
            ended
                .map_err(|error| BenchError::Options(format!("a consumer broke: {error}")))?
                .map_err(BenchError::refused("subscribing"))?;
        }
        let sides = (0u32..).zip(&self.groups).map(|(number, group)| {
            let received = group.received();
            let lost = received.missing(&published.acknowledged);
            ConsumeSide::of(number, group, &received, lost, received.took())
        });
        Ok(sides.collect())
    }
}

/// Publishes and consumes at once.
///
/// # Errors
/// When the options do not fit together or the broker refuses what the run needs.
pub async fn end_to_end(options: EndToEndOptions, connections: &[Arc<dyn Broker>]) -> Result<Report, BenchError> {
    options.load.check(connections.len())?;
    let Some(first) = connections.first() else { return Err(BenchError::Options("no connection".to_owned())) };
    let run = options.load.seed;
    let topics = options.topics.make(first, run, options.subscriptions).await?;
    let issued = Issued::new(connections.len());
    let watch = Stopwatch::start();
    let consumers = Consumers::start(&ConsumerPlan {
        connections,
        topics: &topics,
        subscriptions: options.subscriptions,
        consumers: options.consumers,
        credit: options.credit,
        run,
        issued: Arc::clone(&issued),
        watch,
        producers: connections.len(),
    })?;
    let published = publish_load(connections, &topics, &options.load, run, watch, &issued).await?;
    let consumed = consumers.finish(&published, patience(options.load.delays.longest(), options.drain)).await?;
    options.topics.remove(first, topics).await?;
    let mut described = describe(&options.load, &options.topics, connections.len());
    described.insert("subscriptions", options.subscriptions.to_string());
    described.insert("consumers", options.consumers.to_string());
    Ok(Report { run: "end-to-end", options: described, published: Some(PublishSide::of(&published)), consumed })
}
