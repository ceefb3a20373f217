//! The one place where the command line draws a random number.

use crate::{exit::Exit, failure::Failure};

/// A random number, for names and seeds of a run.
///
/// # Errors
/// When the system has none.
#[allow(clippy::disallowed_methods, reason = "names of runs; a load's seed is printed and can be given")]
pub(crate) fn number() -> Result<u64, Failure> {
    getrandom::u64().map_err(|error| Failure::new(Exit::Failed, format!("cannot get random bytes: {error}")))
}
