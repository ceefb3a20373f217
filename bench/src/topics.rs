//! Topics of a run: made before it, deleted after it.

use std::sync::Arc;

use punctual_broker_api::{
    Broker, Durability, NamespaceName, Patch, SubscriptionName, SubscriptionPatch, SubscriptionPath, TopicName,
    TopicPatch, TopicPath,
};

use crate::BenchError;

/// Which topics a run uses.
#[derive(Clone, Debug)]
pub struct TopicPlan {
    /// The namespace.
    pub namespace: NamespaceName,
    /// What the topics' names begin with; the run's number is added, so that runs do not meet.
    pub prefix: String,
    /// How many topics.
    pub topics: u32,
    /// Partitions of each.
    pub partitions: u16,
    /// Durability of each.
    pub durability: Durability,
    /// Leave the topics there after the run.
    pub keep: bool,
}

impl TopicPlan {
    /// Makes the topics with their subscriptions `s0`, `s1`, ….
    pub(crate) async fn make(
        &self,
        broker: &Arc<dyn Broker>,
        run: u64,
        subscriptions: u32,
    ) -> Result<Vec<TopicPath>, BenchError> {
        let mut topics = Vec::new();
        for number in 0..self.topics {
            let name = format!("{}-{run:08x}-{number}", self.prefix);
            let topic =
                TopicName::parse(&name).map_err(|error| BenchError::Options(format!("topic `{name}` {error}")))?;
            let path = TopicPath { namespace: self.namespace.clone(), topic };
            let patch = TopicPatch {
                partitions: Patch::Set(self.partitions),
                durability: Patch::Set(self.durability),
                ..TopicPatch::default()
            };
            broker.put_topic(path.clone(), patch).await.map_err(BenchError::refused("making a topic"))?;
            for subscription in 0..subscriptions {
                let path = subscription_path(&path, subscription)?;
                let made = broker.put_subscription(path, SubscriptionPatch::default()).await;
                made.map_err(BenchError::refused("making a subscription"))?;
            }
            topics.push(path);
        }
        Ok(topics)
    }

    /// Deletes them.
    pub(crate) async fn remove(&self, broker: &Arc<dyn Broker>, topics: Vec<TopicPath>) -> Result<(), BenchError> {
        if self.keep {
            return Ok(());
        }
        for topic in topics {
            broker.delete_topic(topic).await.map_err(BenchError::refused("deleting a topic"))?;
        }
        Ok(())
    }
}

pub(crate) fn subscription_path(topic: &TopicPath, number: u32) -> Result<SubscriptionPath, BenchError> {
    let subscription =
        SubscriptionName::parse(&format!("s{number}")).map_err(|error| BenchError::Options(error.to_string()))?;
    Ok(SubscriptionPath { topic: topic.clone(), subscription })
}
