//! A JSON document as a tree, borrowed from the request where it can be.
//!
//! Promises: a name given twice is noticed, and no document takes more values than
//! [`limits::JSON_VALUES_MAX`]. Depth is bounded by `serde_json` (128).

use std::{borrow::Cow, collections::HashSet, fmt};

use punctual_broker_api::{Code, Error};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::limits;

/// A JSON value.
#[derive(Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    Fraction(f64),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Object<'a>),
}

/// A JSON object, in the order sent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Object<'a> {
    pub(crate) entries: Vec<(Cow<'a, str>, Json<'a>)>,
    /// A name that was given twice.
    pub(crate) repeated: Option<String>,
}

/// How many values a document may still hold. What comes after that is skipped, and
/// [`Budget::check`] then refuses the document.
pub(crate) struct Budget {
    left: usize,
    exceeded: bool,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: limits::JSON_VALUES_MAX, exceeded: false }
    }

    fn take(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.exceeded = true,
        }
        !self.exceeded
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.exceeded {
            return Ok(());
        }
        let limit = limits::JSON_VALUES_MAX;
        Err(Error::new(Code::MalformedRequest, format!("the JSON document holds more than {limit} values")))
    }
}

/// Reads a whole document.
pub(crate) fn parse(text: &[u8]) -> Result<Json<'_>, Error> {
    let mut budget = Budget::new();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = JsonSeed(&mut budget).deserialize(&mut deserializer).map_err(|error| malformed(&error))?;
    deserializer.end().map_err(|error| malformed(&error))?;
    budget.check()?;
    Ok(value)
}

/// The error for what is not JSON.
pub(crate) fn malformed(error: &serde_json::Error) -> Error {
    Error::new(Code::MalformedRequest, format!("cannot read the request as JSON: {error}"))
        .with_hint("send a JSON object in UTF-8")
}

/// Reads one value within a budget.
pub(crate) struct JsonSeed<'b>(pub(crate) &'b mut Budget);

impl<'de> DeserializeSeed<'de> for JsonSeed<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        if self.0.take() {
            deserializer.deserialize_any(self)
        } else {
            deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Json::Null)
        }
    }
}

impl<'de> Visitor<'de> for JsonSeed<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(u64::try_from(value).map_or(Json::Negative(value), Json::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Fraction(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Json<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element_seed(JsonSeed(self.0))? {
            if !self.0.exceeded {
                values.push(value);
            }
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key_seed(NameSeed)? {
            let value = map.next_value_seed(JsonSeed(self.0))?;
            if !self.0.exceeded {
                entries.push((name, value));
            }
        }
        let repeated = repeated(&entries);
        Ok(Json::Object(Object { entries, repeated }))
    }
}

fn repeated(entries: &[(Cow<'_, str>, Json<'_>)]) -> Option<String> {
    let mut seen = HashSet::with_capacity(entries.len());
    entries.iter().find(|(name, _)| !seen.insert(name.as_ref())).map(|(name, _)| name.to_string())
}

/// Reads the name of an object's entry.
pub(crate) struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}
