//! Answers: what the broker said, as JSON. Times are RFC 3339, durations whole milliseconds in
//! fields that end in `_ms`. Nothing here decides anything.

mod body;
mod clock;
mod delivery;
mod page;
mod published;
mod schedule;
mod topic;
mod view;

pub(crate) use clock::ClockAnswer;
pub(crate) use delivery::DeliveryAnswer;
pub(crate) use page::{Bucket, PageAnswer};
pub(crate) use published::{PublishedAnswer, write_result};
pub(crate) use schedule::ScheduleAnswer;
pub(crate) use topic::{NamespaceAnswer, SubscriptionAnswer, TopicAnswer};
pub(crate) use view::ViewAnswer;

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use punctual_broker_api::{Time, time_text};
use serde::{Serialize, Serializer};

/// A time as it stands in answers.
pub(crate) struct At(pub(crate) Time);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time_text::format_time(self.0))
    }
}

/// An answer of one word.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deliver_at: Option<At>,
}

impl Outcome {
    pub(crate) const fn of(outcome: &'static str) -> Self {
        Self { outcome, deliver_at: None }
    }
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let mut text = Vec::with_capacity(256);
    // Our own types serialise without fail: their maps have text for names, and a vector takes all.
    let written = serde_json::to_writer(&mut text, value);
    assert!(written.is_ok(), "an answer could not be written as JSON: {written:?}");
    text.push(b'\n');
    with_type(status, "application/json", Body::from(text))
}

/// An answer of some content type.
pub(crate) fn with_type(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
