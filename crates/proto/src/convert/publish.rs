//! A message to publish, and what became of it.

use punctual_broker_api::{Error, MessageId, NewMessage, OnConflict, Prepare, PublishStatus, Published};

use super::{delay_from, delay_from_optional, delay_into, invalid_field, pending, time_from, time_into, unreadable};
use crate::{
    status,
    v1::{self, Header},
};

pub(super) fn headers_from(headers: Vec<Header>) -> Vec<(String, String)> {
    headers.into_iter().map(|header| (header.key, header.value)).collect()
}

pub(super) fn headers_into(headers: Vec<(String, String)>) -> Vec<Header> {
    headers.into_iter().map(|(key, value)| Header { key, value }).collect()
}

/// A message to publish.
///
/// # Errors
/// `exclusive_fields`, `invalid_duration`, `invalid_time`, `invalid_field`.
pub fn new_message_from(message: v1::NewMessage) -> Result<NewMessage, Error> {
    let when = pending::when_from(message.delay_ms, message.deliver_at_unix_ms, message.delay_level)?;
    let on_conflict = match v1::OnConflict::try_from(message.on_conflict) {
        Ok(v1::OnConflict::Unspecified | v1::OnConflict::Reject) => OnConflict::Reject,
        Ok(v1::OnConflict::Replace) => OnConflict::Replace,
        Ok(v1::OnConflict::Keep) => OnConflict::Keep,
        Err(error) => return Err(invalid_field("on_conflict", format!("cannot use {} as on_conflict", error.0))),
    };
    let priority = u8::try_from(message.priority).map_err(|_| {
        invalid_field("priority", format!("cannot use priority {}: the highest is 255", message.priority))
    })?;
    Ok(NewMessage {
        body: message.body,
        when: when.unwrap_or_default(),
        key: message.key,
        on_conflict,
        dedup_id: message.dedup_id,
        ordering_key: message.ordering_key,
        tag: message.tag,
        headers: headers_from(message.headers),
        priority,
        expires_after: delay_from_optional("expires_after", message.expires_after_ms)?,
        prepare: message.prepare.map(prepare_from).transpose()?,
    })
}

fn prepare_from(prepare: v1::Prepare) -> Result<Prepare, Error> {
    Ok(Prepare { timeout: delay_from("prepare.timeout", prepare.timeout_ms)?, max_checks: prepare.max_checks })
}

fn prepare_into(prepare: Prepare) -> v1::Prepare {
    v1::Prepare { timeout_ms: delay_into(prepare.timeout), max_checks: prepare.max_checks }
}

/// A message to publish, for the wire.
#[must_use]
pub fn new_message_into(message: NewMessage) -> v1::NewMessage {
    let (delay_ms, deliver_at_unix_ms, delay_level) = pending::when_into(message.when);
    let on_conflict = match message.on_conflict {
        OnConflict::Reject => v1::OnConflict::Unspecified,
        OnConflict::Replace => v1::OnConflict::Replace,
        OnConflict::Keep => v1::OnConflict::Keep,
    };
    v1::NewMessage {
        body: message.body,
        delay_ms,
        deliver_at_unix_ms,
        delay_level,
        key: message.key,
        on_conflict: on_conflict.into(),
        dedup_id: message.dedup_id,
        ordering_key: message.ordering_key,
        tag: message.tag,
        headers: headers_into(message.headers),
        priority: message.priority.into(),
        expires_after_ms: message.expires_after.map(delay_into),
        prepare: message.prepare.map(prepare_into),
    }
}

/// What became of a message, for the wire.
#[must_use]
pub fn published_into(result: Result<Published, Error>) -> v1::PublishResult {
    let published = match result {
        Ok(published) => published,
        Err(error) => return v1::PublishResult { error: Some(status::to_proto(error)), ..Default::default() },
    };
    let (status, replaced_id) = match published.status {
        PublishStatus::Accepted => (v1::PublishStatus::Accepted, None),
        PublishStatus::Duplicate => (v1::PublishStatus::Duplicate, None),
        PublishStatus::Replaced { replaced_id } => (v1::PublishStatus::Replaced, Some(replaced_id.as_str().to_owned())),
        PublishStatus::Kept => (v1::PublishStatus::Kept, None),
        PublishStatus::Prepared => (v1::PublishStatus::Prepared, None),
    };
    v1::PublishResult {
        id: published.id.as_str().to_owned(),
        deliver_at_unix_ms: time_into(published.deliver_at),
        status: status.into(),
        replaced_id,
        error: None,
    }
}

/// What became of a message.
///
/// # Errors
/// The message's own error; `internal` for a status that this version does not know.
pub fn published_from(result: v1::PublishResult) -> Result<Published, Error> {
    if let Some(error) = result.error {
        return Err(status::from_proto(error));
    }
    let status = match (v1::PublishStatus::try_from(result.status), &result.replaced_id) {
        (Ok(v1::PublishStatus::Accepted), _) => PublishStatus::Accepted,
        (Ok(v1::PublishStatus::Duplicate), _) => PublishStatus::Duplicate,
        (Ok(v1::PublishStatus::Replaced), Some(id)) => PublishStatus::Replaced { replaced_id: MessageId::new(id) },
        (Ok(v1::PublishStatus::Kept), _) => PublishStatus::Kept,
        (Ok(v1::PublishStatus::Prepared), _) => PublishStatus::Prepared,
        (Ok(v1::PublishStatus::Replaced | v1::PublishStatus::Unspecified) | Err(_), _) => {
            return Err(unreadable(&format!("publish status {}", result.status)));
        }
    };
    Ok(Published {
        id: MessageId::new(&result.id),
        deliver_at: time_from("deliver_at", result.deliver_at_unix_ms)?,
        status,
    })
}
