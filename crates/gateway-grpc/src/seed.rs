//! The one place of this door that rolls dice.

use punctual_broker_api::RequestIds;

/// Ids of requests, other ones in every process.
#[allow(
    clippy::disallowed_methods,
    reason = "names log lines only and decides nothing; a seed that could not be had is as good as any"
)]
pub(crate) fn request_ids() -> RequestIds {
    RequestIds::seeded(getrandom::u64().unwrap_or_default())
}
