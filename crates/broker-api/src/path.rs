//! What a request is about.

use punctual_types::{NamespaceName, SubscriptionName, TopicName};

/// A topic of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicPath {
    /// The namespace: the tenant.
    pub namespace: NamespaceName,
    /// The topic.
    pub topic: TopicName,
}

/// A subscription of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionPath {
    /// The topic.
    pub topic: TopicPath,
    /// The subscription.
    pub subscription: SubscriptionName,
}
