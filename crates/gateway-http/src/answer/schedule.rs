//! Recurring schedules: their settings, then what comes and what was.

use punctual_broker_api::{DelayMs, NewMessage, OnConflict, ScheduleRun, ScheduleView};
use serde::Serialize;

use super::{
    At,
    body::{BodyAnswer, HeadersAnswer},
};
use crate::refusal::Fault;

#[derive(Serialize)]
pub(crate) struct ScheduleAnswer<'s> {
    name: &'s str,
    topic: &'s str,
    message: MessageAnswer<'s>,
    cron: Option<&'s str>,
    timezone: Option<&'s str>,
    every_ms: Option<u64>,
    start: Option<At>,
    end: Option<At>,
    max_runs: Option<u64>,
    jitter_ms: u64,
    catch_up: &'static str,
    paused: bool,
    runs: u64,
    next: Vec<At>,
    last: Option<RunAnswer<'s>>,
}

/// A message to publish, as it could be sent.
#[derive(Serialize)]
struct MessageAnswer<'m> {
    #[serde(flatten)]
    body: BodyAnswer<'m>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_conflict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'m str>,
    headers: HeadersAnswer<'m>,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_after_ms: Option<u64>,
}

#[derive(Serialize)]
struct RunAnswer<'r> {
    nominal_time: At,
    published_at: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault<'r>>,
}

impl<'s> ScheduleAnswer<'s> {
    pub(crate) fn of(view: &'s ScheduleView, request_id: &'s str) -> Self {
        let settings = &view.settings;
        Self {
            name: &view.name,
            topic: settings.topic.as_str(),
            message: MessageAnswer::of(&settings.message),
            cron: settings.cron.as_deref(),
            timezone: settings.timezone.as_deref(),
            every_ms: settings.every.map(DelayMs::ms),
            start: settings.start.map(At),
            end: settings.end.map(At),
            max_runs: settings.max_runs,
            jitter_ms: settings.jitter.ms(),
            catch_up: settings.catch_up.as_str(),
            paused: settings.paused,
            runs: view.runs,
            next: view.next.iter().copied().map(At).collect(),
            last: view.last.as_ref().map(|last| RunAnswer::of(last, request_id)),
        }
    }
}

impl<'m> MessageAnswer<'m> {
    fn of(message: &'m NewMessage) -> Self {
        let on_conflict = match message.on_conflict {
            OnConflict::Reject => None,
            OnConflict::Replace => Some("replace"),
            OnConflict::Keep => Some("keep"),
        };
        Self {
            body: BodyAnswer::of(&message.body),
            key: message.key.as_deref(),
            on_conflict,
            ordering_key: message.ordering_key.as_deref(),
            tag: message.tag.as_deref(),
            headers: HeadersAnswer(&message.headers),
            priority: message.priority,
            expires_after_ms: message.expires_after.map(DelayMs::ms),
        }
    }
}

impl<'r> RunAnswer<'r> {
    fn of(run: &'r ScheduleRun, request_id: &'r str) -> Self {
        Self {
            nominal_time: At(run.nominal_time),
            published_at: run.published_at.map(At),
            id: run.id.as_ref().map(punctual_broker_api::MessageId::as_str),
            error: run.error.as_ref().map(|error| Fault::of(error, request_id)),
        }
    }
}
