//! A message as one JSON object: the form M of the API, read strictly.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use punctual_broker_api::{
    Code, DelayMs, Error, NewMessage, OnConflict, Time, When, parse_duration, time_text::parse_time,
};
use serde_json::{Map, Value};

/// Reads a message over the defaults that the command line gave.
///
/// # Errors
/// Names the field: an unknown one, a wrong type, two fields that exclude each other.
pub(crate) fn parse(text: &[u8], defaults: &NewMessage) -> Result<NewMessage, Error> {
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|error| {
        Error::new(Code::MalformedRequest, format!("the line begins like a JSON object and is none: {error}"))
    })?;
    exclusive(&object, &["body", "body_base64"])?;
    exclusive(&object, &["delay", "deliver_at", "delay_level"])?;
    let mut message = defaults.clone();
    let mut has_body = false;
    for (name, value) in object {
        // A null is a field left out, as at the HTTP door.
        if value.is_null() {
            continue;
        }
        has_body |= matches!(name.as_str(), "body" | "body_base64");
        set(&mut message, &name, value)?;
    }
    if has_body {
        return Ok(message);
    }
    Err(Error::new(Code::MalformedRequest, "the message has no body").with_field("body"))
}

fn exclusive(object: &Map<String, Value>, names: &[&str]) -> Result<(), Error> {
    let mut given = names.iter().filter(|name| object.get(**name).is_some_and(|value| !value.is_null()));
    match (given.next(), given.next()) {
        (Some(first), Some(second)) => {
            Err(Error::new(Code::ExclusiveFields, format!("`{first}` and `{second}` exclude each other"))
                .with_field(*second))
        }
        (_, None) | (None, Some(_)) => Ok(()),
    }
}

fn set(message: &mut NewMessage, name: &str, value: Value) -> Result<(), Error> {
    match name {
        "body" => message.body = Bytes::from(string(name, value)?),
        "body_base64" => {
            let bytes = BASE64.decode(string(name, value)?).map_err(|error| {
                Error::new(Code::InvalidBase64, format!("the body is not base64: {error}")).with_field(name)
            })?;
            message.body = bytes.into();
        }
        "delay" => message.when = When::Delay(duration(name, value)?),
        "deliver_at" => message.when = When::At(time(name, value)?),
        "delay_level" => message.when = When::Level(whole(name, &value)?),
        "key" => message.key = Some(string(name, value)?),
        "on_conflict" => message.on_conflict = on_conflict(&string(name, value)?)?,
        "dedup_id" => message.dedup_id = Some(string(name, value)?),
        "ordering_key" => message.ordering_key = Some(string(name, value)?),
        "tag" => message.tag = Some(string(name, value)?),
        "headers" => message.headers = headers(value)?,
        "priority" => message.priority = whole(name, &value)?,
        "expires_after" => message.expires_after = Some(duration(name, value)?),
        "prepare" => {
            return Err(Error::new(Code::NotSupported, "prepared messages are not supported yet").with_field(name));
        }
        _ => {
            return Err(Error::new(Code::UnknownField, format!("a message has no field `{name}`"))
                .with_field(name)
                .with_hint("a line that is a JSON object is read as a message; with --raw every line is a body"));
        }
    }
    Ok(())
}

fn wrong_type(name: &str, what: &str) -> Error {
    Error::new(Code::InvalidField, format!("`{name}` is not {what}")).with_field(name)
}

fn string(name: &str, value: Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(wrong_type(name, "a string"))
        }
    }
}

fn whole<T: TryFrom<u64>>(name: &str, value: &Value) -> Result<T, Error> {
    value
        .as_u64()
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| wrong_type(name, "a whole number in its range"))
}

fn duration(name: &str, value: Value) -> Result<DelayMs, Error> {
    if let Some(ms) = value.as_u64() {
        return Ok(DelayMs::from_ms(ms));
    }
    let text = match value {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    parse_duration(&text)
        .map_err(|error| Error::new(Code::InvalidDuration, format!("`{text}` {error}")).with_field(name))
}

fn time(name: &str, value: Value) -> Result<Time, Error> {
    let text = match value {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    parse_time(&text).map_err(|what| Error::new(Code::InvalidTime, format!("`{text}` {what}")).with_field(name))
}

/// The word of a conflict rule.
///
/// # Errors
/// For any other word.
pub(crate) fn on_conflict(text: &str) -> Result<OnConflict, Error> {
    match text {
        "reject" => Ok(OnConflict::Reject),
        "replace" => Ok(OnConflict::Replace),
        "keep" => Ok(OnConflict::Keep),
        _ => Err(wrong_type("on_conflict", "reject, replace or keep")),
    }
}

fn headers(value: Value) -> Result<Vec<(String, String)>, Error> {
    let Value::Object(map) = value else { return Err(wrong_type("headers", "an object of strings")) };
    map.into_iter()
        .map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(wrong_type(&format!("headers.{name}"), "a string"))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<NewMessage, Error> {
        parse(text.as_bytes(), &NewMessage { when: When::Delay(DelayMs::from_secs(9)), ..NewMessage::default() })
    }

    #[test]
    fn every_field_of_a_message_is_read() {
        let message = parsed(
            r#"{"body_base64":"/w==","deliver_at":7,"key":"k","on_conflict":"keep","dedup_id":"d","ordering_key":"o",
                "tag":"t","headers":{"b":"1","a":"2"},"priority":3,"expires_after":"1m"}"#,
        );
        let expected = NewMessage {
            body: Bytes::from_static(&[0xff]),
            when: When::At(Time::from_unix_ms(7).expect("in range")),
            key: Some("k".into()),
            on_conflict: OnConflict::Keep,
            dedup_id: Some("d".into()),
            ordering_key: Some("o".into()),
            tag: Some("t".into()),
            headers: vec![("b".into(), "1".into()), ("a".into(), "2".into())],
            priority: 3,
            expires_after: Some(DelayMs::from_secs(60)),
            prepare: None,
        };
        assert_eq!(message, Ok(expected));
    }

    #[test]
    fn what_a_line_leaves_out_comes_from_the_command_line() {
        let when = |text: &str| parsed(text).map(|message| message.when);
        assert_eq!(when(r#"{"body":"x"}"#), Ok(When::Delay(DelayMs::from_secs(9))));
        assert_eq!(when(r#"{"body":"x","delay":null}"#), Ok(When::Delay(DelayMs::from_secs(9))));
        assert_eq!(when(r#"{"body":"x","delay_level":2}"#), Ok(When::Level(2)));
    }

    #[test]
    fn a_line_that_is_wrong_is_refused_with_its_field() {
        for (text, code, field) in [
            (r#"{"body":"x""#, Code::MalformedRequest, None),
            (r#"{"delay":"5s"}"#, Code::MalformedRequest, Some("body")),
            (r#"{"body":"x","colour":1}"#, Code::UnknownField, Some("colour")),
            (r#"{"body":1}"#, Code::InvalidField, Some("body")),
            (r#"{"body":"x","body_base64":""}"#, Code::ExclusiveFields, Some("body_base64")),
            (r#"{"body":"x","delay":"5s","delay_level":1}"#, Code::ExclusiveFields, Some("delay_level")),
            (r#"{"body":"x","delay":-1}"#, Code::InvalidDuration, Some("delay")),
            (r#"{"body":"x","delay":1.5}"#, Code::InvalidDuration, Some("delay")),
            (r#"{"body":"x","deliver_at":"noon"}"#, Code::InvalidTime, Some("deliver_at")),
            (r#"{"body_base64":"%"}"#, Code::InvalidBase64, Some("body_base64")),
            (r#"{"body":"x","priority":256}"#, Code::InvalidField, Some("priority")),
            (r#"{"body":"x","headers":{"a":1}}"#, Code::InvalidField, Some("headers.a")),
            (r#"{"body":"x","prepare":{}}"#, Code::NotSupported, Some("prepare")),
        ] {
            let error = parsed(text).expect_err(text);
            assert_eq!((error.code, error.field.as_deref()), (code, field), "{text}");
        }
    }
}
