//! `punctual serve`: settings, wiring, signals. The broker itself and its doors are crates of
//! their own; this knows how they are put together and how they end.

mod flags;
mod layers;
mod logs;
mod print_config;
mod run;
mod setting;
mod settings;
mod stop;

use layers::Layers;
use settings::Settings;

pub(crate) use flags::Flags;
pub(crate) use stop::StopSignals;

use crate::{exit::Exit, failure::Failure, output::Output};

/// Gathers the settings and serves until told to stop.
///
/// # Errors
/// Each with an exit code of docs/operations.md.
pub(crate) async fn serve(flags: Flags, output: Output) -> Result<(), Failure> {
    let file = match &flags.config {
        None => std::collections::BTreeMap::new(),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failure::new(Exit::Configuration, format!("cannot read `{}`: {error}", path.display()))
            })?;
            layers::read_file(path, &text).map_err(|message| Failure::new(Exit::Configuration, message))?
        }
    };
    let layers = Layers::gather(&flags.given, |name| std::env::var(name).ok(), &file);
    let settings = Settings::read(&layers)?;
    if flags.print_config {
        return print_config::print(&layers, output);
    }
    logs::start(&settings.log_level, settings.log_format)?;
    run::run(settings, output).await
}
