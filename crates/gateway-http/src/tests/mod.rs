//! Requests as text, and what is understood of them or answered to them.
//!
//! Regenerate the expectations with `UPDATE_EXPECT=1 cargo test -p punctual-gateway-http`, and
//! review the difference.

mod answers;
mod batches;
mod documents;
#[path = "../../tests/http/failing.rs"]
mod failing;
mod limits;
mod lines;
mod messages;
mod settings;
#[path = "../../tests/http/wire.rs"]
#[allow(dead_code, reason = "shared with the other tests of this door")]
mod wire;

use punctual_broker_api::{Error, NewMessage, When, time_text};

/// An error in one line: code, field, message.
fn show_error(error: &Error) -> String {
    format!("{} [{}] {}", error.code.slug(), error.field.as_deref().unwrap_or("-"), error.message)
}

/// A message in one line: what is not a default.
fn show_message(message: &NewMessage) -> String {
    let mut parts = vec![format!("body {:?}", message.body)];
    match message.when {
        When::Now => {}
        When::Delay(delay) => parts.push(format!("delay {delay}")),
        When::At(at) => parts.push(format!("at {}", time_text::format_time(at))),
        When::Level(level) => parts.push(format!("level {level}")),
    }
    let texts = [
        ("key", &message.key),
        ("dedup_id", &message.dedup_id),
        ("ordering_key", &message.ordering_key),
        ("tag", &message.tag),
    ];
    for (name, text) in texts {
        parts.extend(text.as_ref().map(|text| format!("{name} {text:?}")));
    }
    if message.on_conflict != punctual_broker_api::OnConflict::default() {
        parts.push(format!("on_conflict {:?}", message.on_conflict));
    }
    if !message.headers.is_empty() {
        parts.push(format!("headers {:?}", message.headers));
    }
    if message.priority > 0 {
        parts.push(format!("priority {}", message.priority));
    }
    parts.extend(message.expires_after.map(|after| format!("expires_after {after}")));
    let prepare = message.prepare;
    parts.extend(prepare.map(|it| format!("prepare {} with {} checks", it.timeout, it.max_checks)));
    parts.join(", ")
}

fn show(result: &Result<NewMessage, Error>) -> String {
    match result {
        Ok(message) => show_message(message),
        Err(error) => show_error(error),
    }
}
