//! A message to publish, as it is written on the wire.

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use punctual_broker_api::{Code, Error, NewMessage, OnConflict, Prepare, When};

use crate::json::{
    Fields, Json,
    read::{self, Place},
};

// Encoders disagree about padding; the bytes are the same either way.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const ON_CONFLICT: &[(&str, OnConflict)] =
    &[("reject", OnConflict::Reject), ("replace", OnConflict::Replace), ("keep", OnConflict::Keep)];

/// A message of a batch.
pub(crate) fn of_json(value: Json<'_>) -> Result<NewMessage, Error> {
    let Json::Object(object) = value else {
        return Err(Error::new(Code::InvalidField, "a message is a JSON object, and this is not one"));
    };
    let mut fields = Fields::of(object, "")?;
    let body = body(&mut fields)?;
    let headers = fields.optional("headers", headers)?.unwrap_or_default();
    let prepare = fields.optional("prepare", prepare)?;
    Ok(NewMessage { prepare, ..finish(fields, body, headers)? })
}

/// A message whose body is the request's and whose other fields are the query.
pub(crate) fn of_query(mut fields: Fields<'_>, body: Bytes) -> Result<NewMessage, Error> {
    let mut headers = Vec::new();
    for (name, value) in fields.take_prefixed("h.") {
        if name.is_empty() {
            return Err(Error::new(Code::InvalidField, "a header has no name").with_field("h."));
        }
        headers.push((name, read::text(Place { name: "h", as_text: true }, value)?));
    }
    finish(fields, body, headers)
}

fn finish(mut fields: Fields<'_>, body: Bytes, headers: Vec<(String, String)>) -> Result<NewMessage, Error> {
    let message = NewMessage {
        body,
        when: when(&mut fields)?.unwrap_or_default(),
        key: fields.optional("key", read::text)?,
        on_conflict: fields.optional("on_conflict", read::word(ON_CONFLICT))?.unwrap_or_default(),
        dedup_id: fields.optional("dedup_id", read::text)?,
        ordering_key: fields.optional("ordering_key", read::text)?,
        tag: fields.optional("tag", read::text)?,
        headers,
        priority: fields.optional("priority", read::whole::<u8>)?.unwrap_or_default(),
        expires_after: fields.optional("expires_after", read::duration)?,
        prepare: None,
    };
    fields.finish()?;
    Ok(message)
}

/// When something is to be delivered: one at most of `delay`, `deliver_at` and `delay_level`.
pub(crate) fn when(fields: &mut Fields<'_>) -> Result<Option<When>, Error> {
    let delay = fields.optional("delay", read::duration)?.map(|delay| ("delay", When::Delay(delay)));
    let at = fields.optional("deliver_at", read::time)?.map(|at| ("deliver_at", When::At(at)));
    let level = fields.optional("delay_level", read::whole)?.map(|level| ("delay_level", When::Level(level)));
    let mut given = [delay, at, level].into_iter().flatten();
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some((_, when)), None) => Ok(Some(when)),
        (Some((first, _)), Some((second, _))) => {
            Err(fields.exclusive(&[first, second]).with_hint("give one of `delay`, `deliver_at` and `delay_level`"))
        }
    }
}

fn body(fields: &mut Fields<'_>) -> Result<Bytes, Error> {
    let plain = fields.optional("body", |place, value| match value {
        // Copied, and not a slice of the request: a small message must not keep a whole batch in memory.
        Json::Text(text) => Ok(Bytes::from(text.into_owned())),
        other => read::text(place, other).map(Bytes::from),
    })?;
    let encoded = fields.optional("body_base64", |place, value| {
        let text = match &value {
            Json::Text(text) => text.as_ref(),
            _ => return read::text(place, value).map(Bytes::from),
        };
        BASE64.decode(text).map(Bytes::from).map_err(|problem| {
            place
                .fault(Code::InvalidBase64, problem.to_string().to_lowercase().trim_end_matches('.'))
                .with_hint("write the body in standard base64 (RFC 4648 §4), or as text in `body`")
        })
    })?;
    match (plain, encoded) {
        (Some(_), Some(_)) => Err(fields.exclusive(&["body", "body_base64"])),
        (Some(body), None) | (None, Some(body)) => Ok(body),
        (None, None) => Ok(Bytes::new()),
    }
}

fn prepare(place: Place<'_>, value: Json<'_>) -> Result<Prepare, Error> {
    let mut fields = read::object(place, value)?;
    let prepare = Prepare {
        timeout: fields.required("timeout", read::duration)?,
        max_checks: fields.required("max_checks", read::whole)?,
    };
    fields.finish()?;
    Ok(prepare)
}

fn headers(place: Place<'_>, value: Json<'_>) -> Result<Vec<(String, String)>, Error> {
    let (entries, prefix) = read::object(place, value)?.into_entries();
    let mut headers = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let value = match value {
            Json::Text(text) => text.into_owned(),
            other => read::text(Place { name: &format!("{prefix}{name}"), as_text: false }, other)?,
        };
        headers.push((name.into_owned(), value));
    }
    Ok(headers)
}
