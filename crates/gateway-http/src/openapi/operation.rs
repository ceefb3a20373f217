//! What the document says about each call: in a word, its query, its body, its answers.

use super::{administration, messages, schedules};
use crate::call::Call;

/// A call as the document tells it.
pub(super) struct Operation {
    pub(super) summary: &'static str,
    pub(super) tag: &'static str,
    pub(super) query: &'static [Parameter],
    pub(super) body: Option<&'static RequestBody>,
    pub(super) answers: &'static [Answer],
}

/// A query parameter. Its schema is the name of one, or JSON.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) schema: &'static str,
    pub(super) description: &'static str,
}

/// What a call takes as its body.
pub(super) enum RequestBody {
    /// A JSON object.
    Json { schema: &'static str, required: bool },
    /// A batch, or lines.
    Batch,
    /// The body of a message.
    Message,
}

/// An answer: for each media type the name of its schema, which is empty for text.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) content: &'static [(&'static str, &'static str)],
}

/// What any call may answer when it fails.
pub(super) const FAULTS: &[(u16, &str)] = &[
    (400, "The request is wrong: mend it."),
    (401, "No token, or one that is not known."),
    (403, "The token does not allow it."),
    (404, "There is no such thing."),
    (409, "It does not fit what is there."),
    (413, "The request is too large."),
    (429, "A limit was met, nothing was accepted: retry after `Retry-After` seconds."),
    (500, "A bug of the broker."),
    (503, "Not at the moment, nothing was accepted: retry after `Retry-After` seconds."),
    (504, "It may have happened: retry with a `dedup_id`."),
];

macro_rules! json_answers {
    ($($status:literal $schema:literal $description:literal),+ $(,)?) => {
        &[$(Answer { status: $status, description: $description, content: &[("application/json", $schema)] }),+]
    };
}

pub(super) use json_answers;

macro_rules! body {
    ($schema:literal) => {
        Some(&RequestBody::Json { schema: $schema, required: true })
    };
    ($schema:literal optional) => {
        Some(&RequestBody::Json { schema: $schema, required: false })
    };
}

pub(super) use body;

pub(super) const fn parameter(name: &'static str, schema: &'static str, description: &'static str) -> Parameter {
    Parameter { name, schema, description }
}

pub(super) const TEXT: &str = r#"{"type":"string"}"#;
pub(super) const LIMIT: Parameter =
    parameter("limit", r#"{"type":"integer","minimum":1,"maximum":1000,"default":100}"#, "How many at most.");
pub(super) const CURSOR: Parameter = parameter("cursor", TEXT, "`next_cursor` of the page before.");

/// What by-key routes take in addition.
pub(super) const ORDERING_KEY: Parameter =
    parameter("ordering_key", TEXT, "The ordering key that the message was published with, if any.");

/// What the document says about a call; a test sees to it that there is something for each.
pub(super) fn of(call: Call) -> Option<&'static Operation> {
    let headings = [
        messages::MESSAGES,
        messages::CONSUMING,
        administration::TOPICS,
        administration::SUBSCRIPTIONS,
        administration::NAMESPACES,
        schedules::SCHEDULES,
        administration::CLOCK,
        administration::ABOUT,
    ];
    headings.into_iter().flatten().find(|(known, _)| *known == call).map(|(_, operation)| operation)
}
