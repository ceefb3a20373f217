//! From flags to changes: a flag that was given sets a field, `--reset FIELD` puts its default
//! back, every other field keeps its value.

use punctual_broker_api::Patch;

/// The change of one field.
pub(crate) fn patch<T>(given: Option<T>, field: &str, reset: &[String]) -> Patch<T> {
    match given {
        Some(value) => Patch::Set(value),
        None if reset.iter().any(|name| name == field) => Patch::Reset,
        None => Patch::Keep,
    }
}

/// The error of a flag whose value is one of a few words.
pub(crate) fn one_of<T: Copy>(words: &[(&'static str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("is not one of {}", allowed.join(", "))
    })
}
