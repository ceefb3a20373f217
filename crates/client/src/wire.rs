//! Requests as they go over the wire, and what is common to their answers.

use punctual_broker_api::{
    Error, ListRequest, Page, Put, ReceiveRequest, RedriveRequest, SubscriptionListRequest, SubscriptionPath,
    TimelineRequest, TopicPath,
};
use punctual_proto::{convert, v1};

/// Namespace and topic.
pub(crate) fn names(topic: &TopicPath) -> (String, String) {
    (topic.namespace.as_str().to_owned(), topic.topic.as_str().to_owned())
}

/// Namespace, topic and subscription.
pub(crate) fn all_names(path: &SubscriptionPath) -> (String, String, String) {
    let (namespace, topic) = names(&path.topic);
    (namespace, topic, path.subscription.as_str().to_owned())
}

pub(crate) fn collect<T, U>(items: Vec<T>, convert: impl FnMut(T) -> Result<U, Error>) -> Result<Vec<U>, Error> {
    items.into_iter().map(convert).collect()
}

pub(crate) fn page<T, U>(
    items: Vec<T>,
    next_cursor: Option<String>,
    convert: impl FnMut(T) -> Result<U, Error>,
) -> Result<Page<U>, Error> {
    Ok(Page { items: collect(items, convert)?, next_cursor })
}

/// The object of a PUT, which a broker that made or changed it always answers.
pub(crate) fn put<T: Default, U>(
    object: Option<T>,
    created: bool,
    convert: impl FnOnce(T) -> Result<U, Error>,
) -> Result<Put<U>, Error> {
    Ok(Put { object: convert(object.unwrap_or_default())?, created })
}

pub(crate) fn receive(request: &ReceiveRequest) -> v1::ReceiveRequest {
    let (namespace, topic, subscription) = all_names(&request.subscription);
    v1::ReceiveRequest {
        namespace,
        topic,
        subscription,
        max: request.max,
        max_bytes: Some(convert::ms_into(request.max_bytes)),
        wait_ms: convert::delay_into(request.wait),
        lease_ms: request.lease.map(convert::delay_into),
    }
}

pub(crate) fn list(request: ListRequest) -> v1::ListRequest {
    let (namespace, topic) = names(&request.topic);
    v1::ListRequest {
        namespace,
        topic,
        from_unix_ms: request.range.from.map(convert::time_into),
        to_unix_ms: request.range.to.map(convert::time_into),
        key_prefix: request.key_prefix,
        limit: request.limit,
        cursor: request.cursor,
        body: Some(request.with_body),
    }
}

pub(crate) fn timeline(request: &TimelineRequest) -> v1::TimelineRequest {
    let (namespace, topic) = names(&request.topic);
    v1::TimelineRequest {
        namespace,
        topic,
        from_unix_ms: request.range.from.map(convert::time_into),
        to_unix_ms: request.range.to.map(convert::time_into),
        bucket_ms: Some(convert::delay_into(request.bucket)),
    }
}

pub(crate) fn subscription_list(request: SubscriptionListRequest) -> v1::ListSubscriptionMessagesRequest {
    let (namespace, topic, subscription) = all_names(&request.subscription);
    v1::ListSubscriptionMessagesRequest {
        namespace,
        topic,
        subscription,
        state: convert::list_state_into(request.state),
        limit: request.limit,
        cursor: request.cursor,
        body: Some(request.with_body),
    }
}

pub(crate) fn redrive(path: &SubscriptionPath, request: &RedriveRequest) -> v1::RedriveRequest {
    let (namespace, topic, subscription) = all_names(path);
    v1::RedriveRequest {
        namespace,
        topic,
        subscription,
        max: request.max,
        ids: request.ids.as_deref().map(convert::ids_into),
        from_unix_ms: request.range.from.map(convert::time_into),
        to_unix_ms: request.range.to.map(convert::time_into),
    }
}
