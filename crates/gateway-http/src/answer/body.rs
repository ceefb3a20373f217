//! A message body in an answer: text when it is text, base64 when it is not.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

/// `body` or `body_base64`.
#[derive(Serialize)]
pub(crate) struct BodyAnswer<'b> {
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'b str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

impl<'b> BodyAnswer<'b> {
    /// Of a body that is shown.
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { body: Some(text), body_base64: None },
            Err(_) => Self { body: None, body_base64: Some(STANDARD.encode(bytes)) },
        }
    }

    /// Of a body that was left out.
    pub(crate) const fn left_out() -> Self {
        Self { body: None, body_base64: None }
    }
}

/// Headers as an object, in the order sent.
pub(crate) struct HeadersAnswer<'h>(pub(crate) &'h [(String, String)]);

impl Serialize for HeadersAnswer<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
