//! What the document says about each call: in a word, its query, its body, its answers.

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

macro_rules! body {
    ($schema:literal) => {
        Some(&RequestBody::Json { schema: $schema, required: true })
    };
    ($schema:literal optional) => {
        Some(&RequestBody::Json { schema: $schema, required: false })
    };
}

const fn parameter(name: &'static str, schema: &'static str, description: &'static str) -> Parameter {
    Parameter { name, schema, description }
}

const TEXT: &str = r#"{"type":"string"}"#;
const LIMIT: Parameter =
    parameter("limit", r#"{"type":"integer","minimum":1,"maximum":1000,"default":100}"#, "How many at most.");
const CURSOR: Parameter = parameter("cursor", TEXT, "`next_cursor` of the page before.");
const FROM: Parameter = parameter("from", "TimeIn", "The first millisecond of the range.");
const TO: Parameter = parameter("to", "TimeIn", "The first millisecond after the range.");
const STATE: Parameter = parameter("state", r#"{"const":"scheduled"}"#, "Which messages: those that are not yet due.");
const PAGE: &[Parameter] = &[LIMIT, CURSOR];

/// What by-key routes take in addition.
pub(super) const ORDERING_KEY: Parameter =
    parameter("ordering_key", TEXT, "The ordering key that the message was published with, if any.");

const PUBLISH_QUERY: &[Parameter] = &[
    parameter("delay", "Duration", "Deliver so long after now."),
    parameter("deliver_at", "TimeIn", "Deliver then."),
    parameter("delay_level", r#"{"type":"integer","minimum":1}"#, "Deliver after a level of the namespace's table."),
    parameter("key", "Handle", "The caller's own handle."),
    parameter("on_conflict", r#"{"enum":["reject","replace","keep"]}"#, "When a scheduled message has the key."),
    parameter("dedup_id", "Handle", "Of several publishes with one dedup id one message is stored."),
    parameter("ordering_key", "Handle", "Messages with one ordering key go to one partition."),
    parameter("tag", "Handle", "For filters."),
    parameter("priority", r#"{"type":"integer","minimum":0,"maximum":255}"#, "Higher goes first."),
    parameter("expires_after", "Duration", "Counted from the due time."),
    parameter("h.NAME", TEXT, "A header called NAME; any number of them."),
];
const LIST_QUERY: &[Parameter] = &[
    STATE,
    FROM,
    TO,
    parameter("key_prefix", TEXT, "Only those whose key begins so."),
    LIMIT,
    CURSOR,
    parameter("body", r#"{"type":"boolean","default":true}"#, "Whether bodies are answered."),
];
const CANCEL_RANGE_QUERY: &[Parameter] =
    &[STATE, FROM, TO, parameter("all", r#"{"type":"boolean"}"#, "Every one, instead of a range.")];
const TIMELINE_QUERY: &[Parameter] =
    &[FROM, TO, parameter("bucket", "Duration", "A whole number of minutes; 1m by default.")];

const DONE: &[Answer] = json_answers![200 "Done" "Done."];
const CLOCK_READ: &[Answer] = json_answers![200 "Clock" "The clock as it is now."];
const TOPIC_PUT: &[Answer] = json_answers![200 "Topic" "Changed.", 201 "Topic" "Made."];
const SUBSCRIPTION_PUT: &[Answer] = json_answers![200 "Subscription" "Changed.", 201 "Subscription" "Made."];
const NAMESPACE_PUT: &[Answer] = json_answers![200 "Namespace" "Changed.", 201 "Namespace" "Made."];

/// What the document says about a call; a test sees to it that there is something for each.
pub(super) fn of(call: Call) -> Option<&'static Operation> {
    if call.is_unsupported() {
        return Some(&UNSUPPORTED);
    }
    let headings = [MESSAGES, CONSUMING, TOPICS, SUBSCRIPTIONS, NAMESPACES, CLOCK, ABOUT];
    headings.into_iter().flatten().find(|(known, _)| *known == call).map(|(_, operation)| operation)
}

const UNSUPPORTED: Operation = Operation {
    summary: "Part of the contract and not supported by this version: answers `not_supported`",
    tag: "not supported yet",
    query: &[],
    body: None,
    answers: &[],
};

const MESSAGES: &[(Call, Operation)] = &[
    (
        Call::Publish,
        Operation {
            summary: "Publish a batch, or a stream of lines",
            tag: "messages",
            query: &[],
            body: Some(&RequestBody::Batch),
            answers: &[Answer {
                status: 200,
                description: "One result per message, in order, each done or refused by itself; a line each for lines.",
                content: &[("application/json", "PublishResults"), ("application/x-ndjson", "PublishResult")],
            }],
        },
    ),
    (
        Call::PublishOne,
        Operation {
            summary: "Publish the request body as one message",
            tag: "messages",
            query: PUBLISH_QUERY,
            body: Some(&RequestBody::Message),
            answers: json_answers![200 "Published" "Stored, or found to be stored already."],
        },
    ),
    (
        Call::List,
        Operation {
            summary: "List scheduled messages in due order",
            tag: "messages",
            query: LIST_QUERY,
            body: None,
            answers: json_answers![200 "MessagePage" "A page; it may be short or empty and still have a cursor."],
        },
    ),
    (
        Call::CancelRange,
        Operation {
            summary: "Cancel every message that is scheduled in a range",
            tag: "messages",
            query: CANCEL_RANGE_QUERY,
            body: None,
            answers: json_answers![200 "CancelledCount" "How many were cancelled."],
        },
    ),
    (
        Call::Get,
        Operation {
            summary: "Look at one message",
            tag: "messages",
            query: &[],
            body: None,
            answers: json_answers![200 "MessageView" "The message."],
        },
    ),
    (
        Call::Cancel,
        Operation {
            summary: "Cancel a scheduled message",
            tag: "messages",
            query: &[],
            body: None,
            answers: json_answers![200 "Cancelled" "It will not be delivered.", 404 "NotFound" "Not found.", 409 "TooLate" "Too late."],
        },
    ),
    (
        Call::Reschedule,
        Operation {
            summary: "Move a scheduled message to another time",
            tag: "messages",
            query: &[],
            body: body!["RescheduleRequest"],
            answers: json_answers![200 "Rescheduled" "It is due then.", 404 "NotFound" "Not found.", 409 "TooLate" "Too late."],
        },
    ),
    (
        Call::DeliverNow,
        Operation {
            summary: "Make a scheduled message due now",
            tag: "messages",
            query: &[],
            body: None,
            answers: json_answers![200 "DeliveredNow" "It is due.", 404 "NotFound" "Not found.", 409 "TooLate" "Too late."],
        },
    ),
    (
        Call::Timeline,
        Operation {
            summary: "Count what comes due when",
            tag: "messages",
            query: TIMELINE_QUERY,
            body: None,
            answers: json_answers![200 "Timeline" "The counts."],
        },
    ),
];

const CONSUMING: &[(Call, Operation)] = &[
    (
        Call::Receive,
        Operation {
            summary: "Lease messages that are due: waits for the first, never for the rest",
            tag: "consuming",
            query: &[],
            body: body!["ReceiveRequest" optional],
            answers: json_answers![200 "Deliveries" "What was leased; none when the wait is over or the subscription is paused."],
        },
    ),
    (
        Call::Ack,
        Operation {
            summary: "Say that messages were handled",
            tag: "consuming",
            query: &[],
            body: body!["ReceiptsRequest"],
            answers: json_answers![200 "AckResults" "One result per receipt."],
        },
    ),
    (
        Call::Nack,
        Operation {
            summary: "Say that messages failed: they are tried again, or dead-lettered",
            tag: "consuming",
            query: &[],
            body: body!["NackRequest"],
            answers: json_answers![200 "NackResults" "One result per receipt."],
        },
    ),
    (
        Call::Release,
        Operation {
            summary: "Give messages back, attempts not raised",
            tag: "consuming",
            query: &[],
            body: body!["ReceiptsRequest"],
            answers: json_answers![200 "ReleaseResults" "One result per receipt."],
        },
    ),
    (
        Call::Extend,
        Operation {
            summary: "Let leases last longer",
            tag: "consuming",
            query: &[],
            body: body!["ExtendRequest"],
            answers: json_answers![200 "ExtendResults" "One result per receipt."],
        },
    ),
];

const TOPICS: &[(Call, Operation)] = &[
    (
        Call::ListTopics,
        Operation {
            summary: "List topics by name",
            tag: "topics",
            query: PAGE,
            body: None,
            answers: json_answers![200 "TopicPage" "A page."],
        },
    ),
    (
        Call::GetTopic,
        Operation {
            summary: "Read a topic",
            tag: "topics",
            query: &[],
            body: None,
            answers: json_answers![200 "Topic" "The topic."],
        },
    ),
    (
        Call::PutTopic,
        Operation {
            summary: "Make or change a topic",
            tag: "topics",
            query: &[],
            body: body!["TopicSettings" optional],
            answers: TOPIC_PUT,
        },
    ),
    (
        Call::DeleteTopic,
        Operation { summary: "Delete a topic with all it holds", tag: "topics", query: &[], body: None, answers: DONE },
    ),
];

const SUBSCRIPTIONS: &[(Call, Operation)] = &[
    (
        Call::ListSubscriptions,
        Operation {
            summary: "List subscriptions by name",
            tag: "subscriptions",
            query: PAGE,
            body: None,
            answers: json_answers![200 "SubscriptionPage" "A page."],
        },
    ),
    (
        Call::GetSubscription,
        Operation {
            summary: "Read a subscription",
            tag: "subscriptions",
            query: &[],
            body: None,
            answers: json_answers![200 "Subscription" "The subscription."],
        },
    ),
    (
        Call::PutSubscription,
        Operation {
            summary: "Make or change a subscription; makes its topic",
            tag: "subscriptions",
            query: &[],
            body: body!["SubscriptionSettings" optional],
            answers: SUBSCRIPTION_PUT,
        },
    ),
    (
        Call::DeleteSubscription,
        Operation { summary: "Delete a subscription", tag: "subscriptions", query: &[], body: None, answers: DONE },
    ),
    (
        Call::Seek,
        Operation {
            summary: "Move a subscription",
            tag: "subscriptions",
            query: &[],
            body: body!["SeekRequest"],
            answers: DONE,
        },
    ),
    (
        Call::Pause,
        Operation { summary: "Stop offering messages", tag: "subscriptions", query: &[], body: None, answers: DONE },
    ),
    (
        Call::Resume,
        Operation { summary: "Offer messages again", tag: "subscriptions", query: &[], body: None, answers: DONE },
    ),
];

const NAMESPACES: &[(Call, Operation)] = &[
    (
        Call::ListNamespaces,
        Operation {
            summary: "List namespaces by name",
            tag: "namespaces",
            query: PAGE,
            body: None,
            answers: json_answers![200 "NamespacePage" "A page."],
        },
    ),
    (
        Call::GetNamespace,
        Operation {
            summary: "Read a namespace",
            tag: "namespaces",
            query: &[],
            body: None,
            answers: json_answers![200 "Namespace" "The namespace."],
        },
    ),
    (
        Call::PutNamespace,
        Operation {
            summary: "Make or change a namespace",
            tag: "namespaces",
            query: &[],
            body: body!["NamespaceSettings" optional],
            answers: NAMESPACE_PUT,
        },
    ),
    (
        Call::DeleteNamespace,
        Operation {
            summary: "Delete a namespace with everything in it",
            tag: "namespaces",
            query: &[],
            body: None,
            answers: DONE,
        },
    ),
];

const CLOCK: &[(Call, Operation)] = &[
    (Call::Clock, Operation { summary: "Read the clock", tag: "clock", query: &[], body: None, answers: CLOCK_READ }),
    (
        Call::AdvanceClock,
        Operation {
            summary: "Move a manual clock ahead; answers when what came due was offered",
            tag: "clock",
            query: &[],
            body: body!["AdvanceRequest"],
            answers: CLOCK_READ,
        },
    ),
    (
        Call::AcceptClock,
        Operation {
            summary: "Take the wall clock's time, forward only, and end a hold",
            tag: "clock",
            query: &[],
            body: None,
            answers: CLOCK_READ,
        },
    ),
];

const ABOUT: &[(Call, Operation)] = &[
    (
        Call::Live,
        Operation {
            summary: "Whether the process lives",
            tag: "about",
            query: &[],
            body: None,
            answers: json_answers![200 "Status" "It does."],
        },
    ),
    (
        Call::Ready,
        Operation {
            summary: "Whether requests make sense",
            tag: "about",
            query: &[],
            body: None,
            answers: json_answers![200 "Status" "They do.", 503 "Status" "They do not: it is stopping, or failed."],
        },
    ),
    (
        Call::Metrics,
        Operation {
            summary: "Metrics in the OpenMetrics text format",
            tag: "about",
            query: &[],
            body: None,
            answers: &[Answer {
                status: 200,
                description: "The metrics.",
                content: &[("application/openmetrics-text", "")],
            }],
        },
    ),
    (
        Call::OpenApi,
        Operation {
            summary: "This document",
            tag: "about",
            query: &[],
            body: None,
            answers: &[Answer {
                status: 200,
                description: "The document.",
                content: &[("application/json", r#"{"type":"object"}"#)],
            }],
        },
    ),
    (
        Call::ErrorPage,
        Operation {
            summary: "What an error code means and what to do",
            tag: "about",
            query: &[],
            body: None,
            answers: &[Answer { status: 200, description: "A page.", content: &[("text/markdown", "")] }],
        },
    ),
    (
        Call::Home,
        Operation {
            summary: "What this is and where to look",
            tag: "about",
            query: &[],
            body: None,
            answers: &[Answer { status: 200, description: "A page.", content: &[("text/plain", "")] }],
        },
    ),
];
