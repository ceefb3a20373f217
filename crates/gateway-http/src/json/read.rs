//! One value of a field as the type that the field wants, or an error that names both.

use punctual_broker_api::{Code, DelayMs, Error, SeekTo, Time, parse_duration, time_text};

use super::{Fields, Json};
use crate::limits;

/// The field that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    /// Its name, with those of the objects around it: `retry.initial`.
    pub(crate) name: &'p str,
    /// Whether numbers and truth values come as text, as they do in a query.
    pub(crate) as_text: bool,
}

impl Place<'_> {
    /// An error about the field's value.
    pub(crate) fn fault(self, code: Code, problem: impl std::fmt::Display) -> Error {
        Error::new(code, format!("cannot take `{}`: {problem}", self.name)).with_field(self.name)
    }

    fn wrong_type(self, code: Code, value: &Json<'_>, wanted: &str) -> Error {
        self.fault(code, format_args!("{} is not {wanted}", quote(value)))
    }
}

/// A value as an error shows it, cut to a readable length.
fn quote(value: &Json<'_>) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Whole(value) => value.to_string(),
        Json::Negative(value) => value.to_string(),
        Json::Fraction(value) => value.to_string(),
        Json::Text(value) => format!("\"{}\"", cut(value)),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// The beginning of a text, at most [`limits::QUOTED_BYTES_MAX`] bytes of it.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= limits::QUOTED_BYTES_MAX {
        return text.to_owned();
    }
    let mut end = limits::QUOTED_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Any text.
pub(crate) fn text(place: Place<'_>, value: Json<'_>) -> Result<String, Error> {
    match value {
        Json::Text(text) => Ok(text.into_owned()),
        other => Err(place.wrong_type(Code::InvalidField, &other, "a string")),
    }
}

/// `true` or `false`.
pub(crate) fn flag(place: Place<'_>, value: Json<'_>) -> Result<bool, Error> {
    match &value {
        Json::Bool(flag) => Ok(*flag),
        Json::Text(text) if place.as_text && text == "true" => Ok(true),
        Json::Text(text) if place.as_text && text == "false" => Ok(false),
        other => Err(place.wrong_type(Code::InvalidField, other, "true or false")),
    }
}

/// A whole number that fits into `T`.
pub(crate) fn whole<T: TryFrom<u64>>(place: Place<'_>, value: Json<'_>) -> Result<T, Error> {
    let number = match &value {
        Json::Whole(number) => Some(*number),
        Json::Text(text) if place.as_text && text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        let largest = u64::MAX >> (64 - 8 * size_of::<T>().clamp(1, 8));
        place.wrong_type(Code::InvalidField, &value, &format!("a whole number from 0 to {largest}"))
    })
}

/// Any number.
pub(crate) fn fraction(place: Place<'_>, value: Json<'_>) -> Result<f64, Error> {
    match &value {
        Json::Fraction(number) => Ok(*number),
        Json::Whole(number) => Ok(nearest(*number)),
        Json::Negative(number) => Ok(-nearest(number.unsigned_abs())),
        other => Err(place.wrong_type(Code::InvalidField, other, "a number")),
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "settings of this kind are far below 2^53, from where on it is the nearest"
)]
const fn nearest(number: u64) -> f64 {
    number as f64
}

/// A duration: text with units, or whole milliseconds.
pub(crate) fn duration(place: Place<'_>, value: Json<'_>) -> Result<DelayMs, Error> {
    let read = match &value {
        Json::Whole(ms) => Ok(DelayMs::from_ms(*ms)),
        Json::Text(text) => parse_duration(text)
            .map_err(|problem| place.fault(Code::InvalidDuration, format_args!("{} {problem}", quote(&value)))),
        Json::Negative(_) => Err(place.fault(Code::InvalidDuration, format_args!("{} is negative", quote(&value)))),
        other => Err(place.wrong_type(
            Code::InvalidDuration,
            other,
            "a duration or a whole number of milliseconds below 18446744073709551616",
        )),
    };
    read.map_err(|error| error.with_hint("write `1500ms`, `5s`, `15m`, `1h30m`, `7d` or a number of milliseconds"))
}

/// A time: RFC 3339 text, or whole Unix milliseconds.
pub(crate) fn time(place: Place<'_>, value: Json<'_>) -> Result<Time, Error> {
    let read = match &value {
        Json::Whole(ms) => time_text::parse_time(&ms.to_string()),
        // A query turns the `+` of an offset into a space unless it was written `%2B`.
        Json::Text(text) if place.as_text && text.contains('T') => time_text::parse_time(&text.replace(' ', "+")),
        Json::Text(text) => time_text::parse_time(text),
        Json::Negative(_) => Err("is negative".to_owned()),
        Json::Null | Json::Bool(_) | Json::Fraction(_) | Json::Array(_) | Json::Object(_) => {
            Err("is neither RFC 3339 text nor a whole number of Unix milliseconds".to_owned())
        }
    };
    read.map_err(|problem| {
        place
            .fault(Code::InvalidTime, format_args!("{} {problem}", quote(&value)))
            .with_hint("write `2026-11-30T12:00:00Z` or Unix milliseconds, up to the end of the year 9999")
    })
}

/// A place of a subscription: `earliest`, `latest`, or a time.
pub(crate) fn seek(place: Place<'_>, value: Json<'_>) -> Result<SeekTo, Error> {
    match &value {
        Json::Text(text) if text == "earliest" => Ok(SeekTo::Earliest),
        Json::Text(text) if text == "latest" => Ok(SeekTo::Latest),
        _ => time(place, value)
            .map(SeekTo::Time)
            .map_err(|error| error.with_hint("write `earliest`, `latest`, an RFC 3339 time or Unix milliseconds")),
    }
}

/// One of a few words.
pub(crate) fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(Place<'_>, Json<'_>) -> Result<T, Error> {
    move |place, value| {
        let known = match &value {
            Json::Text(text) => words.iter().find(|(word, _)| word == text),
            _ => None,
        };
        known.map(|(_, value)| *value).ok_or_else(|| {
            let all: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            place.wrong_type(Code::InvalidField, &value, &format!("one of {}", all.join(", ")))
        })
    }
}

/// A list, each of its values read alike; `too_long` is the code for more than `most` of them.
pub(crate) fn list<T>(
    most: usize,
    too_long: Code,
    each: impl Fn(Place<'_>, Json<'_>) -> Result<T, Error>,
) -> impl Fn(Place<'_>, Json<'_>) -> Result<Vec<T>, Error> {
    move |place, value| {
        let Json::Array(values) = value else {
            return Err(place.wrong_type(Code::InvalidField, &value, "an array"));
        };
        if values.len() > most {
            let problem = format_args!("it has {} values, allowed are {most}", values.len());
            return Err(place.fault(too_long, problem));
        }
        let mut read = Vec::with_capacity(values.len());
        for (at, value) in values.into_iter().enumerate() {
            // Names of places are built only for what is at fault.
            read.push(each(place, value).map_err(|error| error.with_field(format!("{}[{at}]", place.name)))?);
        }
        Ok(read)
    }
}

/// An object within the object.
pub(crate) fn object<'a>(place: Place<'_>, value: Json<'a>) -> Result<Fields<'a>, Error> {
    match value {
        Json::Object(object) => Fields::of(object, place.name),
        other => Err(place.wrong_type(Code::InvalidField, &other, "an object")),
    }
}
