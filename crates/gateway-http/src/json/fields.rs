//! The fields of a request's object or query, taken one by one; what is left over is an error.

use std::borrow::Cow;

use punctual_broker_api::{Code, DelayMs, Error, Patch};

use super::{
    Json, Object,
    read::{self, Place},
};

/// The fields that were not taken yet.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    entries: Vec<(Cow<'a, str>, Json<'a>)>,
    /// The name of the object they are in, with a dot at its end; empty for the request itself.
    prefix: String,
    as_text: bool,
}

impl<'a> Fields<'a> {
    /// The fields of an object called `name`, which is empty for the request itself.
    pub(crate) fn of(object: Object<'a>, name: &str) -> Result<Self, Error> {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        if let Some(repeated) = object.repeated {
            return Err(twice(&format!("{prefix}{repeated}")));
        }
        Ok(Self { entries: object.entries, prefix, as_text: false })
    }

    /// The fields of a JSON request; those of `{}` when it has no body.
    pub(crate) fn of_request(body: &'a [u8]) -> Result<Self, Error> {
        if body.is_empty() {
            return Self::of(Object::default(), "");
        }
        match super::parse(body)? {
            Json::Object(object) => Self::of(object, ""),
            _ => Err(Error::new(Code::MalformedRequest, "the request is JSON, but not a JSON object")),
        }
    }

    /// The fields of a query.
    pub(crate) fn of_query(pairs: Vec<(String, String)>) -> Result<Self, Error> {
        let entries: Vec<_> =
            pairs.into_iter().map(|(name, value)| (Cow::Owned(name), Json::Text(Cow::Owned(value)))).collect();
        for (at, (name, _)) in entries.iter().enumerate() {
            if entries.iter().take(at).any(|(earlier, _)| earlier == name) {
                return Err(twice(name));
            }
        }
        Ok(Self { entries, prefix: String::new(), as_text: true })
    }

    /// Takes a field's value as it came, `null` included.
    pub(crate) fn take(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.entries.iter().position(|(known, _)| known == name)?;
        Some(self.entries.remove(at).1)
    }

    /// Passes over what an answer shows and a request cannot change.
    pub(crate) fn pass_over(&mut self, names: &[&str]) {
        for name in names {
            self.take(name);
        }
    }

    /// Takes every field whose name begins so, in the order sent; the prefix is cut off.
    pub(crate) fn take_prefixed(&mut self, prefix: &str) -> Vec<(String, Json<'a>)> {
        let taken = self.entries.extract_if(.., |(name, _)| name.starts_with(prefix));
        taken.map(|(name, value)| (name.get(prefix.len()..).unwrap_or_default().to_owned(), value)).collect()
    }

    /// Every field, in the order sent.
    pub(crate) fn into_entries(self) -> (Vec<(Cow<'a, str>, Json<'a>)>, String) {
        (self.entries, self.prefix)
    }

    fn read<T>(
        &self,
        name: &str,
        value: Json<'a>,
        read: impl FnOnce(Place<'_>, Json<'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.prefix.is_empty() {
            return read(Place { name, as_text: self.as_text }, value);
        }
        read(Place { name: &format!("{}{name}", self.prefix), as_text: self.as_text }, value)
    }

    /// A field that may be left out or `null`.
    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Place<'_>, Json<'a>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.take(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => self.read(name, value, read).map(Some),
        }
    }

    /// A field that must be there.
    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Place<'_>, Json<'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.optional(name, read)?.ok_or_else(|| self.missing(name))
    }

    /// The error for a field that must be there and is not.
    pub(crate) fn missing(&self, name: &str) -> Error {
        let name = format!("{}{name}", self.prefix);
        Error::new(Code::MalformedRequest, format!("the request has no `{name}`")).with_field(name)
    }

    /// A setting: left out it keeps its value, `null` resets it.
    pub(crate) fn patch<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Place<'_>, Json<'a>) -> Result<T, Error>,
    ) -> Result<Patch<T>, Error> {
        match self.take(name) {
            None => Ok(Patch::Keep),
            Some(Json::Null) => Ok(Patch::Reset),
            Some(value) => self.read(name, value, read).map(Patch::Set),
        }
    }

    /// A setting that answers call `{name}_ms`: taken by either name, so that what was answered
    /// can be sent back.
    pub(crate) fn patch_ms<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Place<'_>, Json<'a>) -> Result<T, Error>,
    ) -> Result<Patch<T>, Error> {
        let given = self.given_name(name)?;
        self.patch(&given, read)
    }

    /// The name that a setting with a unit goes by here: `{name}_ms` unless it is there without.
    fn given_name(&self, name: &str) -> Result<String, Error> {
        let with_unit = format!("{name}_ms");
        let has = |wanted: &str| self.entries.iter().any(|(known, _)| known == wanted);
        match (has(name), has(&with_unit)) {
            (true, true) => Err(self.exclusive(&[name, &with_unit])),
            (true, false) => Ok(name.to_owned()),
            (false, _) => Ok(with_unit),
        }
    }

    /// A duration of a setting that is set as a whole, taken by either name.
    pub(crate) fn required_duration(&mut self, name: &str) -> Result<DelayMs, Error> {
        let given = self.given_name(name)?;
        self.optional(&given, read::duration)?.ok_or_else(|| self.missing(name))
    }

    /// A setting that is a duration.
    pub(crate) fn patch_duration(&mut self, name: &str) -> Result<Patch<DelayMs>, Error> {
        self.patch_ms(name, read::duration)
    }

    /// The error for fields of which one at most may be given; the last of them is named.
    pub(crate) fn exclusive(&self, names: &[&str]) -> Error {
        let given: Vec<_> = names.iter().map(|name| format!("`{}{name}`", self.prefix)).collect();
        let field = names.last().map(|name| format!("{}{name}", self.prefix)).unwrap_or_default();
        Error::new(Code::ExclusiveFields, format!("the request has {} at once", given.join(" and "))).with_field(field)
    }

    /// Refuses whatever nobody took.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let Some((name, _)) = self.entries.first() else {
            return Ok(());
        };
        let name = read::cut(&format!("{}{name}", self.prefix));
        let what = if self.as_text { "query parameter" } else { "field" };
        Err(Error::new(Code::UnknownField, format!("this call knows no {what} `{name}`")).with_field(name))
    }
}

fn twice(name: &str) -> Error {
    let name = read::cut(name);
    Error::new(Code::InvalidField, format!("`{name}` is given twice")).with_field(name)
}
