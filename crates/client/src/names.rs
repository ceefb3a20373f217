//! Short ways to say which topic and which subscription.

use punctual_broker_api::{
    Code, Error, NameError, NamespaceName, SubscriptionName, SubscriptionPath, TopicName, TopicPath,
};

/// A topic of the namespace `default`.
///
/// # Errors
/// `invalid_name` unless the name is 1 to 255 bytes of `[A-Za-z0-9._%:-]`.
pub fn topic(name: &str) -> Result<TopicPath, Error> {
    let topic = TopicName::parse(name).map_err(|why| invalid("topic", name, &why))?;
    Ok(TopicPath { namespace: NamespaceName::default(), topic })
}

/// A subscription of a topic of the namespace `default`.
///
/// # Errors
/// `invalid_name` unless both names are 1 to 255 bytes of `[A-Za-z0-9._%:-]`.
pub fn subscription(topic_name: &str, name: &str) -> Result<SubscriptionPath, Error> {
    let subscription = SubscriptionName::parse(name).map_err(|why| invalid("subscription", name, &why))?;
    Ok(SubscriptionPath { topic: topic(topic_name)?, subscription })
}

fn invalid(field: &str, name: &str, why: &NameError) -> Error {
    Error::new(Code::InvalidName, format!("cannot use `{name}` as the name of a {field}: it {why}")).with_field(field)
}
