//! What the document says about topics, subscriptions, namespaces, the clock, and the pages around
//! the broker.

use super::operation::{Answer, CURSOR, LIMIT, Operation, Parameter, RequestBody, body, json_answers};
use crate::call::Call;

const PAGE: &[Parameter] = &[LIMIT, CURSOR];
const DONE: &[Answer] = json_answers![200 "Done" "Done."];
const CLOCK_READ: &[Answer] = json_answers![200 "Clock" "The clock as it is now."];
const TOPIC_PUT: &[Answer] = json_answers![200 "Topic" "Changed.", 201 "Topic" "Made."];
const SUBSCRIPTION_PUT: &[Answer] = json_answers![200 "Subscription" "Changed.", 201 "Subscription" "Made."];
const NAMESPACE_PUT: &[Answer] = json_answers![200 "Namespace" "Changed.", 201 "Namespace" "Made."];

pub(super) const TOPICS: &[(Call, Operation)] = &[
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

pub(super) const SUBSCRIPTIONS: &[(Call, Operation)] = &[
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

pub(super) const NAMESPACES: &[(Call, Operation)] = &[
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

pub(super) const CLOCK: &[(Call, Operation)] = &[
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

pub(super) const ABOUT: &[(Call, Operation)] = &[
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
