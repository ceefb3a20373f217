//! Where the broker is and how to enter.

use std::fmt;

/// Where the broker is and how to enter.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientConfig {
    /// The address of the gRPC door: `host:port`, or a URL that begins with `http://`.
    pub address: String,
    /// The bearer token, when the broker asks for one.
    pub token: Option<String>,
}

impl ClientConfig {
    /// A broker at an address that asks for no token.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), token: None }
    }

    /// With a token.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
}

impl fmt::Debug for ClientConfig {
    /// Without the token, which does not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("ClientConfig").field("address", &self.address).field("token", &token).finish()
    }
}
