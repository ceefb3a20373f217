//! Who may ask: static tokens.

use subtle::ConstantTimeEq;

use crate::{Code, Error};

/// The tokens that open the doors. Without any, every caller is let in, which is why a broker
/// without tokens listens on loopback only.
#[derive(Clone, Default)]
pub struct Access {
    tokens: Vec<String>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Access({} tokens)", self.tokens.len())
    }
}

impl Access {
    /// Lets in whoever carries one of the tokens, or everyone when there are none.
    #[must_use]
    pub fn new(tokens: Vec<String>) -> Self {
        Self { tokens }
    }

    /// Whether a token is asked for at all.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Checks the value of an `Authorization` header or of the gRPC metadata of that name.
    ///
    /// # Errors
    /// `token_missing` without a bearer token, `token_unknown` with one that is not among ours.
    pub fn check(&self, authorization: Option<&str>) -> Result<(), Error> {
        if self.is_open() {
            return Ok(());
        }
        let token = authorization
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let Some(token) = token else {
            return Err(Error::new(Code::TokenMissing, "the request carries no bearer token")
                .with_hint("send `Authorization: Bearer TOKEN` with one of the tokens of the broker's configuration"));
        };
        // Every token is compared whole, so that the time taken tells nothing about any of them.
        let known =
            self.tokens.iter().fold(0u8, |found, ours| found | ours.as_bytes().ct_eq(token.as_bytes()).unwrap_u8());
        if known == 1 { Ok(()) } else { Err(Error::new(Code::TokenUnknown, "the bearer token is not known here")) }
    }
}
