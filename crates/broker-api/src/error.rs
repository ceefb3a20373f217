//! Errors that a caller can act on: a stable code, a kind that says what to do, the field.

use std::fmt;

/// What a caller can do about an error. Each door maps it to its own status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is wrong: mend it. HTTP 400.
    Invalid,
    /// Say who you are. HTTP 401.
    Unauthenticated,
    /// You may not. HTTP 403.
    Forbidden,
    /// There is no such thing. HTTP 404.
    NotFound,
    /// It does not fit what is there. HTTP 409.
    Conflict,
    /// Make it smaller. HTTP 413.
    TooLarge,
    /// A limit was met; nothing of it was accepted: retry later. HTTP 429.
    Overloaded,
    /// Not at the moment: retry later. HTTP 503.
    Unavailable,
    /// It may have happened: retry with a dedup id. HTTP 504.
    UnknownOutcome,
    /// A bug of ours. HTTP 500.
    Internal,
}

impl Kind {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Internal => "internal",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $slug:literal, $kind:ident;)*) => {
        /// A stable code, with a page each in `docs/errors/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code as it stands in answers: it never changes.
            #[must_use]
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// What the caller can do about it.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }

            /// The code of a slug.
            #[must_use]
            pub fn from_slug(slug: &str) -> Option<Self> {
                match slug { $($slug => Some(Self::$name),)* _ => None }
            }
        }
    };
}

codes! {
    /// The request as a whole cannot be read: not JSON, no `messages`, a missing argument.
    MalformedRequest = "malformed_request", Invalid;
    /// The request has a field or query parameter that the call does not know.
    UnknownField = "unknown_field", Invalid;
    /// A field has a value of the wrong type or out of its range.
    InvalidField = "invalid_field", Invalid;
    /// A name has a wrong length or character.
    InvalidName = "invalid_name", Invalid;
    /// A duration cannot be read or does not fit into 64 bits of milliseconds.
    InvalidDuration = "invalid_duration", Invalid;
    /// A time cannot be read or lies after the year 9999.
    InvalidTime = "invalid_time", Invalid;
    /// More than one of `delay`, `deliver_at` and `delay_level`, or of `body` and `body_base64`.
    ExclusiveFields = "exclusive_fields", Invalid;
    /// The delay is over the namespace's `max_delay`, or ends after the year 9999.
    DelayTooLong = "delay_too_long", Invalid;
    /// The delay level is not in the namespace's table.
    UnknownDelayLevel = "unknown_delay_level", Invalid;
    /// `body_base64` is not base64.
    InvalidBase64 = "invalid_base64", Invalid;
    /// The cursor is not one that this query gave out.
    InvalidCursor = "invalid_cursor", Invalid;
    /// A key, dedup id, ordering key or tag is empty or too long.
    InvalidHandle = "invalid_handle", Invalid;
    /// A cron expression cannot be read, or never comes.
    InvalidCron = "invalid_cron", Invalid;
    /// A time zone is not in the IANA database.
    UnknownTimezone = "unknown_timezone", Invalid;
    /// A subscription's filter cannot be read.
    InvalidFilter = "invalid_filter", Invalid;
    /// The feature is part of the contract and not yet built.
    NotSupported = "not_supported", Invalid;
    /// The request carries no token.
    TokenMissing = "token_missing", Unauthenticated;
    /// The token is not known.
    TokenUnknown = "token_unknown", Unauthenticated;
    /// A web page of somebody else's, or a name that is not ours, stands behind the request.
    OriginNotAllowed = "origin_not_allowed", Forbidden;
    /// There is no such route or method.
    RouteNotFound = "route_not_found", NotFound;
    /// There is no such namespace.
    NamespaceNotFound = "namespace_not_found", NotFound;
    /// There is no such topic.
    TopicNotFound = "topic_not_found", NotFound;
    /// There is no such subscription.
    SubscriptionNotFound = "subscription_not_found", NotFound;
    /// There is no such message, or it was settled and reclaimed.
    MessageNotFound = "message_not_found", NotFound;
    /// There is no such recurring schedule.
    ScheduleNotFound = "schedule_not_found", NotFound;
    /// A scheduled message has the key.
    KeyConflict = "key_conflict", Conflict;
    /// The setting cannot be changed once the object is made.
    SettingFixed = "setting_fixed", Conflict;
    /// The subscription is a stream and was asked to lease, or the other way round.
    SubscriptionKind = "subscription_kind", Conflict;
    /// The namespace is the one that always exists.
    NamespaceInUse = "namespace_in_use", Conflict;
    /// The clock does not run in the mode that the call needs.
    ClockMode = "clock_mode", Conflict;
    /// The body is over the limit.
    BodyTooLarge = "body_too_large", TooLarge;
    /// The headers are over the limit.
    HeadersTooLarge = "headers_too_large", TooLarge;
    /// The batch, or the request as a whole, is over the limit.
    BatchTooLarge = "batch_too_large", TooLarge;
    /// The broker has as much to do as it can queue.
    Overloaded = "overloaded", Overloaded;
    /// A limit that the namespace's owner set is met.
    QuotaExceeded = "quota_exceeded", Overloaded;
    /// The namespace has as many topics as it may.
    TooManyTopics = "too_many_topics", Overloaded;
    /// The namespace has as many recurring schedules as it may.
    TooManySchedules = "too_many_schedules", Overloaded;
    /// The broker has as many connections as it may.
    TooManyConnections = "too_many_connections", Overloaded;
    /// The disk is as full as publishing may make it.
    DiskFull = "disk_full", Unavailable;
    /// The broker is stopping.
    ShuttingDown = "shutting_down", Unavailable;
    /// The broker cannot be reached.
    Unreachable = "unreachable", Unavailable;
    /// The store failed or the connection broke before the answer: it may have happened.
    OutcomeUnknown = "outcome_unknown", UnknownOutcome;
    /// A bug of ours.
    Internal = "internal", Internal;
}

/// Why a request, or one message of it, was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The stable code.
    pub code: Code,
    /// Which field of the request is at fault.
    pub field: Option<String>,
    /// What was being done and what is wrong with which value: lowercase, no full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// When it makes sense to try again, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

impl Error {
    /// An error that says what was being done and what was wrong.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, field: None, message: message.into(), hint: None, retry_after_ms: None }
    }

    /// Names the field at fault.
    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says when to try again.
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: u64) -> Self {
        self.retry_after_ms = Some(ms);
        self
    }

    /// What the caller can do about it.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.code.kind()
    }

    /// Where the page on the code is served, at the HTTP door.
    #[must_use]
    pub fn doc_url(&self) -> String {
        format!("/docs/errors/{}", self.code.slug())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.field {
            Some(field) => write!(f, " (field `{field}`)"),
            None => Ok(()),
        }
    }
}
