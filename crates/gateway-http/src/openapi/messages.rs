//! What the document says about messages: publishing, looking, changing, consuming.

use super::operation::{Answer, CURSOR, LIMIT, Operation, Parameter, RequestBody, TEXT, body, json_answers, parameter};
use crate::call::Call;

const FROM: Parameter = parameter("from", "TimeIn", "The first millisecond of the range.");
const TO: Parameter = parameter("to", "TimeIn", "The first millisecond after the range.");
const STATE: Parameter = parameter("state", r#"{"const":"scheduled"}"#, "Which messages: those that are not yet due.");
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
const BODY: Parameter = parameter("body", r#"{"type":"boolean","default":true}"#, "Whether bodies are answered.");
const LIST_QUERY: &[Parameter] =
    &[STATE, FROM, TO, parameter("key_prefix", TEXT, "Only those whose key begins so."), LIMIT, CURSOR, BODY];
const BROWSE_QUERY: &[Parameter] = &[
    parameter(
        "state",
        r#"{"enum":["ready","leased","retrying","dead"],"default":"ready"}"#,
        "Which messages: to be delivered, with consumers, waiting to be tried again, or given up.",
    ),
    LIMIT,
    CURSOR,
    BODY,
];
const CANCEL_RANGE_QUERY: &[Parameter] =
    &[STATE, FROM, TO, parameter("all", r#"{"type":"boolean"}"#, "Every one, instead of a range.")];
const TIMELINE_QUERY: &[Parameter] =
    &[FROM, TO, parameter("bucket", "Duration", "A whole number of minutes; 1m by default.")];

pub(super) const MESSAGES: &[(Call, Operation)] = &[
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
        Call::Commit,
        Operation {
            summary: "Let a prepared message be delivered at its time",
            tag: "messages",
            query: &[],
            body: None,
            answers: json_answers![200 "CommittedOutcome" "It is, also when asked again within 24 hours.", 404 "NotFound" "Not found.", 409 "RolledBackOutcome" "It was rolled back before."],
        },
    ),
    (
        Call::Rollback,
        Operation {
            summary: "Take a prepared message back",
            tag: "messages",
            query: &[],
            body: None,
            answers: json_answers![200 "RolledBackOutcome" "It is never delivered; said again for 24 hours.", 404 "NotFound" "Not found.", 409 "CommittedOutcome" "It was committed before."],
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

pub(super) const CONSUMING: &[(Call, Operation)] = &[
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
    (
        Call::Browse,
        Operation {
            summary: "Look at messages of a subscription without leasing them",
            tag: "consuming",
            query: BROWSE_QUERY,
            body: None,
            answers: json_answers![200 "MessagePage" "A page; it may be short or empty and still have a cursor."],
        },
    ),
    (
        Call::Redrive,
        Operation {
            summary: "Give dead letters back to their subscription alone, due now, attempts from 1",
            tag: "consuming",
            query: &[],
            body: body!["RedriveRequest" optional],
            answers: json_answers![200 "Redriven" "How many were given back."],
        },
    ),
];
