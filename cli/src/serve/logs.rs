//! Structured logs on stderr, for people or as JSON.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::settings::LogFormat;
use crate::{exit::Exit, failure::Failure};

/// Begins to log.
///
/// # Errors
/// When the filter cannot be read.
pub(crate) fn start(level: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::new(Exit::Configuration, format!("setting `log.level`: `{level}` is not a filter: {error}"))
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Human => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}
