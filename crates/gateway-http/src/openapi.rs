//! The OpenAPI document.

pub(crate) fn text() -> &'static str {
    "{}"
}
