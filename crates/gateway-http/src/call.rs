//! The calls of the contract, and the routes they are reached by. The router and the OpenAPI
//! document are both made from [`ROUTES`], so that neither has a route that the other lacks.

use axum::routing::MethodFilter;

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Publish,
    PublishOne,
    List,
    CancelRange,
    Get,
    Cancel,
    Reschedule,
    DeliverNow,
    Timeline,
    Commit,
    Rollback,
    ListTopics,
    GetTopic,
    PutTopic,
    DeleteTopic,
    ListSubscriptions,
    GetSubscription,
    PutSubscription,
    DeleteSubscription,
    Receive,
    Ack,
    Nack,
    Release,
    Extend,
    Seek,
    Pause,
    Resume,
    Browse,
    Redrive,
    ListNamespaces,
    GetNamespace,
    PutNamespace,
    DeleteNamespace,
    ListSchedules,
    GetSchedule,
    PutSchedule,
    DeleteSchedule,
    PauseSchedule,
    ResumeSchedule,
    TriggerSchedule,
    Clock,
    AdvanceClock,
    AcceptClock,
    Live,
    Ready,
    Metrics,
    OpenApi,
    ErrorPage,
    Home,
}

/// What a call does with its request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// It has none.
    Nothing,
    /// A JSON object without messages.
    Document,
    /// The body is a message.
    Message,
    /// A JSON batch, or lines of messages.
    Batch,
}

impl Call {
    /// Its name, in metrics and as `operationId`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::PublishOne => "publish_one",
            Self::List => "list_messages",
            Self::CancelRange => "cancel_range",
            Self::Get => "get_message",
            Self::Cancel => "cancel",
            Self::Reschedule => "reschedule",
            Self::DeliverNow => "deliver_now",
            Self::Timeline => "timeline",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::ListTopics => "list_topics",
            Self::GetTopic => "get_topic",
            Self::PutTopic => "put_topic",
            Self::DeleteTopic => "delete_topic",
            Self::ListSubscriptions => "list_subscriptions",
            Self::GetSubscription => "get_subscription",
            Self::PutSubscription => "put_subscription",
            Self::DeleteSubscription => "delete_subscription",
            Self::Receive => "receive",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::Release => "release",
            Self::Extend => "extend",
            Self::Seek => "seek",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Browse => "browse",
            Self::Redrive => "redrive",
            Self::ListNamespaces => "list_namespaces",
            Self::GetNamespace => "get_namespace",
            Self::PutNamespace => "put_namespace",
            Self::DeleteNamespace => "delete_namespace",
            Self::ListSchedules => "list_schedules",
            Self::GetSchedule => "get_schedule",
            Self::PutSchedule => "put_schedule",
            Self::DeleteSchedule => "delete_schedule",
            Self::PauseSchedule => "pause_schedule",
            Self::ResumeSchedule => "resume_schedule",
            Self::TriggerSchedule => "trigger_schedule",
            Self::Clock => "clock",
            Self::AdvanceClock => "advance_clock",
            Self::AcceptClock => "accept_clock",
            Self::Live => "live",
            Self::Ready => "ready",
            Self::Metrics => "metrics",
            Self::OpenApi => "openapi",
            Self::ErrorPage => "error_page",
            Self::Home => "home",
        }
    }

    /// Whether anybody may call it, token or not.
    pub(crate) const fn is_public(self) -> bool {
        matches!(self, Self::Live | Self::Ready | Self::ErrorPage)
    }

    pub(crate) const fn wants(self) -> Wants {
        match self {
            Self::Publish => Wants::Batch,
            Self::PublishOne => Wants::Message,
            Self::Reschedule
            | Self::PutTopic
            | Self::PutSubscription
            | Self::PutNamespace
            | Self::PutSchedule
            | Self::Receive
            | Self::Ack
            | Self::Nack
            | Self::Release
            | Self::Extend
            | Self::Seek
            | Self::Redrive
            | Self::AdvanceClock => Wants::Document,
            Self::List
            | Self::CancelRange
            | Self::Get
            | Self::Cancel
            | Self::DeliverNow
            | Self::Timeline
            | Self::Commit
            | Self::Rollback
            | Self::ListTopics
            | Self::GetTopic
            | Self::DeleteTopic
            | Self::ListSubscriptions
            | Self::GetSubscription
            | Self::DeleteSubscription
            | Self::Pause
            | Self::Resume
            | Self::Browse
            | Self::ListNamespaces
            | Self::GetNamespace
            | Self::DeleteNamespace
            | Self::ListSchedules
            | Self::GetSchedule
            | Self::DeleteSchedule
            | Self::PauseSchedule
            | Self::ResumeSchedule
            | Self::TriggerSchedule
            | Self::Clock
            | Self::AcceptClock
            | Self::Live
            | Self::Ready
            | Self::Metrics
            | Self::OpenApi
            | Self::ErrorPage
            | Self::Home => Wants::Nothing,
        }
    }
}

/// A method of HTTP that some route has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// As the router takes it.
    pub(crate) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Put => MethodFilter::PUT,
            Self::Post => MethodFilter::POST,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    /// As the OpenAPI document writes it.
    pub(crate) const fn lower_case(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// A route: one way to reach a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) call: Call,
    pub(crate) method: Method,
    path: &'static str,
    /// Whether the path stands under `/v1` for the namespace `default` and again under
    /// `/v1/namespaces/{namespace}`.
    in_namespace: bool,
}

impl Route {
    const fn plain(call: Call, method: Method, path: &'static str) -> Self {
        Self { call, method, path, in_namespace: false }
    }

    const fn scoped(call: Call, method: Method, path: &'static str) -> Self {
        Self { call, method, path, in_namespace: true }
    }

    /// The paths it is reached by.
    pub(crate) fn paths(&self) -> Vec<String> {
        if self.in_namespace {
            vec![format!("/v1{}", self.path), format!("/v1/namespaces/{{namespace}}{}", self.path)]
        } else {
            vec![self.path.to_owned()]
        }
    }
}

use Method::{Delete, Get, Patch, Post, Put};

/// Every route.
pub(crate) const ROUTES: &[Route] = &[
    Route::scoped(Call::Publish, Post, "/topics/{topic}/messages"),
    Route::scoped(Call::PublishOne, Post, "/topics/{topic}/publish"),
    Route::scoped(Call::List, Get, "/topics/{topic}/messages"),
    Route::scoped(Call::CancelRange, Delete, "/topics/{topic}/messages"),
    Route::scoped(Call::Get, Get, "/topics/{topic}/messages/{id}"),
    Route::scoped(Call::Get, Get, "/topics/{topic}/keys/{key}"),
    Route::scoped(Call::Cancel, Delete, "/topics/{topic}/messages/{id}"),
    Route::scoped(Call::Cancel, Delete, "/topics/{topic}/keys/{key}"),
    Route::scoped(Call::Reschedule, Patch, "/topics/{topic}/messages/{id}"),
    Route::scoped(Call::Reschedule, Patch, "/topics/{topic}/keys/{key}"),
    Route::scoped(Call::DeliverNow, Post, "/topics/{topic}/messages/{id}/deliver"),
    Route::scoped(Call::DeliverNow, Post, "/topics/{topic}/keys/{key}/deliver"),
    Route::scoped(Call::Timeline, Get, "/topics/{topic}/timeline"),
    Route::scoped(Call::Commit, Post, "/topics/{topic}/messages/{id}/commit"),
    Route::scoped(Call::Rollback, Post, "/topics/{topic}/messages/{id}/rollback"),
    Route::scoped(Call::ListTopics, Get, "/topics"),
    Route::scoped(Call::GetTopic, Get, "/topics/{topic}"),
    Route::scoped(Call::PutTopic, Put, "/topics/{topic}"),
    Route::scoped(Call::DeleteTopic, Delete, "/topics/{topic}"),
    Route::scoped(Call::ListSubscriptions, Get, "/topics/{topic}/subscriptions"),
    Route::scoped(Call::GetSubscription, Get, "/topics/{topic}/subscriptions/{subscription}"),
    Route::scoped(Call::PutSubscription, Put, "/topics/{topic}/subscriptions/{subscription}"),
    Route::scoped(Call::DeleteSubscription, Delete, "/topics/{topic}/subscriptions/{subscription}"),
    Route::scoped(Call::Receive, Post, "/topics/{topic}/subscriptions/{subscription}/receive"),
    Route::scoped(Call::Ack, Post, "/topics/{topic}/subscriptions/{subscription}/ack"),
    Route::scoped(Call::Nack, Post, "/topics/{topic}/subscriptions/{subscription}/nack"),
    Route::scoped(Call::Release, Post, "/topics/{topic}/subscriptions/{subscription}/release"),
    Route::scoped(Call::Extend, Post, "/topics/{topic}/subscriptions/{subscription}/extend"),
    Route::scoped(Call::Seek, Post, "/topics/{topic}/subscriptions/{subscription}/seek"),
    Route::scoped(Call::Pause, Post, "/topics/{topic}/subscriptions/{subscription}/pause"),
    Route::scoped(Call::Resume, Post, "/topics/{topic}/subscriptions/{subscription}/resume"),
    Route::scoped(Call::Browse, Get, "/topics/{topic}/subscriptions/{subscription}/messages"),
    Route::scoped(Call::Redrive, Post, "/topics/{topic}/subscriptions/{subscription}/redrive"),
    Route::scoped(Call::ListSchedules, Get, "/schedules"),
    Route::scoped(Call::GetSchedule, Get, "/schedules/{schedule}"),
    Route::scoped(Call::PutSchedule, Put, "/schedules/{schedule}"),
    Route::scoped(Call::DeleteSchedule, Delete, "/schedules/{schedule}"),
    Route::scoped(Call::PauseSchedule, Post, "/schedules/{schedule}/pause"),
    Route::scoped(Call::ResumeSchedule, Post, "/schedules/{schedule}/resume"),
    Route::scoped(Call::TriggerSchedule, Post, "/schedules/{schedule}/trigger"),
    Route::plain(Call::ListNamespaces, Get, "/v1/namespaces"),
    Route::plain(Call::GetNamespace, Get, "/v1/namespaces/{namespace}"),
    Route::plain(Call::PutNamespace, Put, "/v1/namespaces/{namespace}"),
    Route::plain(Call::DeleteNamespace, Delete, "/v1/namespaces/{namespace}"),
    Route::plain(Call::Clock, Get, "/v1/clock"),
    Route::plain(Call::AdvanceClock, Post, "/v1/clock/advance"),
    Route::plain(Call::AcceptClock, Post, "/v1/clock/accept"),
    Route::plain(Call::Live, Get, "/healthz"),
    Route::plain(Call::Ready, Get, "/readyz"),
    Route::plain(Call::Metrics, Get, "/metrics"),
    Route::plain(Call::OpenApi, Get, "/openapi.json"),
    Route::plain(Call::ErrorPage, Get, "/docs/errors/{slug}"),
    Route::plain(Call::Home, Get, "/"),
];
