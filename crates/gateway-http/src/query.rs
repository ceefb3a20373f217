//! The query of a request, decoded strictly: what is not UTF-8 is refused and never replaced.

use punctual_broker_api::{Code, Error};

use crate::json::Fields;

/// Reads a query as fields: `a=1&b=2`, `+` and `%20` are spaces.
pub(crate) fn parse(query: Option<&str>) -> Result<Fields<'static>, Error> {
    let mut pairs = Vec::new();
    for piece in query.unwrap_or_default().split('&').filter(|piece| !piece.is_empty()) {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let name = decode(name).ok_or_else(|| undecodable(piece))?;
        let value = decode(value).ok_or_else(|| undecodable(piece).with_field(name.clone()))?;
        pairs.push((name, value));
    }
    Fields::of_query(pairs)
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

fn undecodable(piece: &str) -> Error {
    let piece = crate::json::read::cut(piece);
    Error::new(Code::MalformedRequest, format!("the query parameter `{piece}` does not decode to UTF-8"))
}
