//! The calls, one function each: what was asked in wire form, to the broker, and back.

mod clock;
mod consume;
mod messages;
mod namespaces;
mod pages;
mod publish;
mod schedules;
pub(crate) mod stream;
mod subscriptions;
mod topics;

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use futures_util::future::BoxFuture;
use punctual_broker_api::{Error, PageRequest};
use punctual_types::limits::PAGE_DEFAULT;

use crate::{
    answer::{self, Outcome},
    call::Call,
    door::Asked,
    json::{Fields, read},
};

/// What a call answers.
type Answer = Result<Response<Body>, Error>;

/// Makes a call.
pub(crate) fn call(call: Call, asked: Asked) -> BoxFuture<'static, Answer> {
    match call {
        Call::Publish => Box::pin(publish::batch(asked)),
        Call::PublishOne => Box::pin(publish::one(asked)),
        Call::List => Box::pin(messages::list(asked)),
        Call::CancelRange => Box::pin(messages::cancel_range(asked)),
        Call::Get => Box::pin(messages::get(asked)),
        Call::Cancel => Box::pin(messages::cancel(asked)),
        Call::Reschedule => Box::pin(messages::reschedule(asked)),
        Call::DeliverNow => Box::pin(messages::deliver_now(asked)),
        Call::Timeline => Box::pin(messages::timeline(asked)),
        Call::Commit => Box::pin(messages::commit(asked)),
        Call::Rollback => Box::pin(messages::rollback(asked)),
        Call::ListTopics => Box::pin(topics::list(asked)),
        Call::GetTopic => Box::pin(topics::get(asked)),
        Call::PutTopic => Box::pin(topics::put(asked)),
        Call::DeleteTopic => Box::pin(topics::delete(asked)),
        Call::ListSubscriptions => Box::pin(subscriptions::list(asked)),
        Call::GetSubscription => Box::pin(subscriptions::get(asked)),
        Call::PutSubscription => Box::pin(subscriptions::put(asked)),
        Call::DeleteSubscription => Box::pin(subscriptions::delete(asked)),
        Call::Receive => Box::pin(consume::receive(asked)),
        Call::Ack => Box::pin(consume::ack(asked)),
        Call::Nack => Box::pin(consume::nack(asked)),
        Call::Release => Box::pin(consume::release(asked)),
        Call::Extend => Box::pin(consume::extend(asked)),
        Call::Seek => Box::pin(subscriptions::seek(asked)),
        Call::Pause => Box::pin(subscriptions::set_paused(asked, true)),
        Call::Resume => Box::pin(subscriptions::set_paused(asked, false)),
        Call::Browse => Box::pin(subscriptions::browse(asked)),
        Call::Redrive => Box::pin(subscriptions::redrive(asked)),
        Call::ListNamespaces => Box::pin(namespaces::list(asked)),
        Call::GetNamespace => Box::pin(namespaces::get(asked)),
        Call::PutNamespace => Box::pin(namespaces::put(asked)),
        Call::DeleteNamespace => Box::pin(namespaces::delete(asked)),
        Call::ListSchedules => Box::pin(schedules::list(asked)),
        Call::GetSchedule => Box::pin(schedules::get(asked)),
        Call::PutSchedule => Box::pin(schedules::put(asked)),
        Call::DeleteSchedule => Box::pin(schedules::delete(asked)),
        Call::PauseSchedule => Box::pin(schedules::set_paused(asked, true)),
        Call::ResumeSchedule => Box::pin(schedules::set_paused(asked, false)),
        Call::TriggerSchedule => Box::pin(schedules::trigger(asked)),
        Call::Clock => Box::pin(clock::show(asked)),
        Call::AdvanceClock => Box::pin(clock::advance(asked)),
        Call::AcceptClock => Box::pin(clock::accept(asked)),
        Call::Live => Box::pin(pages::live(asked)),
        Call::Ready => Box::pin(pages::ready(asked)),
        Call::Metrics => Box::pin(pages::metrics(asked)),
        Call::OpenApi => Box::pin(pages::openapi(asked)),
        Call::ErrorPage => Box::pin(pages::error(asked)),
        Call::Home => Box::pin(pages::home(asked)),
    }
}

fn outcome(status: StatusCode, word: &'static str) -> Response<Body> {
    answer::json(status, &Outcome::of(word))
}

/// `limit` and `cursor` of a call that pages.
fn page(mut query: Fields<'_>) -> Result<PageRequest, Error> {
    let limit = query.optional("limit", read::whole)?.unwrap_or(PAGE_DEFAULT);
    let cursor = query.optional("cursor", read::text)?;
    query.finish()?;
    Ok(PageRequest { limit, cursor })
}

/// The status of a PUT.
const fn put_status(created: bool) -> StatusCode {
    if created { StatusCode::CREATED } else { StatusCode::OK }
}
