//! Why a handler could not do its work, in the words that the dead letter will carry.

use std::fmt::Display;

use punctual_broker_api::{DelayMs, NackRequest, Receipt};
use punctual_types::limits::NACK_ERROR_BYTES_MAX;

/// Why a handler failed: a text, and when to try again.
///
/// Everything that can be displayed turns into one, so that `?` works in a handler on any error.
/// It is no error itself, and does not implement `Display`, because only so can it be made from
/// all of those.
///
/// ```
/// use punctual_client::{Failure, api::DelayMs};
///
/// fn charge(cents: &str) -> Result<u32, Failure> {
///     let cents: u32 = cents.parse()?;
///     if cents > 100_000 {
///         // The policy of the subscription would try again sooner.
///         return Err(Failure::new("the limit of today is reached").retry_after(DelayMs::from_secs(3600)));
///     }
///     Ok(cents)
/// }
/// assert_eq!(charge("12x").unwrap_err().text(), "invalid digit found in string");
/// assert_eq!(charge("100001").unwrap_err().delay(), Some(DelayMs::from_secs(3600)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    text: String,
    delay: Option<DelayMs>,
}

impl Failure {
    /// A failure with this text, tried again as the subscription's policy says. Of a longer text
    /// the first 4 KiB are kept, cut between characters.
    #[must_use]
    pub fn new(text: impl Display) -> Self {
        let mut text = text.to_string();
        text.truncate(text.floor_char_boundary(NACK_ERROR_BYTES_MAX));
        Self { text, delay: None }
    }

    /// Tries again after this delay (up to a year) instead of what the policy says. How often is
    /// still for the policy to say.
    #[must_use]
    pub fn retry_after(mut self, delay: DelayMs) -> Self {
        self.delay = Some(delay);
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// When to try again, if not as the policy says.
    #[must_use]
    pub fn delay(&self) -> Option<DelayMs> {
        self.delay
    }

    pub(crate) fn nack(&self, receipt: Receipt) -> NackRequest {
        NackRequest { receipts: vec![receipt], delay: self.delay, error: Some(self.text.clone()) }
    }
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_one_at_the_limit_is_not() {
        let at_limit = "x".repeat(NACK_ERROR_BYTES_MAX);
        assert_eq!(Failure::new(&at_limit).text(), at_limit);
        assert_eq!(Failure::new(format!("{at_limit}y")).text(), at_limit);
        // The two bytes of the last character would end one past the limit.
        let across = format!("{}é", "x".repeat(NACK_ERROR_BYTES_MAX - 1));
        assert_eq!(Failure::new(across).text(), "x".repeat(NACK_ERROR_BYTES_MAX - 1));
    }
}
