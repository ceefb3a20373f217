//! The command line of `serve`: a flag per setting, made from the table, so that none can be
//! forgotten in the help.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::setting::{Form, SETTINGS, Setting};

/// What `serve` was told on the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// Show the settings instead of serving.
    pub print_config: bool,
    /// The settings that were given, by key.
    pub given: BTreeMap<&'static str, String>,
}

fn argument(setting: &'static Setting) -> Arg {
    let default = if setting.default.is_empty() { "none" } else { setting.default };
    let help = format!("{} [env: {}] [default: {default}]", setting.help, setting.variable());
    let argument = Arg::new(setting.key).long(setting.flag()).value_name(setting.placeholder).help(help);
    let argument = match setting.key.split_once('.') {
        Some(("limits", _)) => argument.help_heading("Limits"),
        Some(_) | None => argument.help_heading("Settings"),
    };
    match setting.form {
        Form::Value | Form::Secrets => argument,
        Form::Switch => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
    }
}

/// What the help says of settings that have no flag.
fn secrets_help() -> String {
    let mut text = String::from("Settings without a flag, for the file or the environment only:\n");
    for setting in SETTINGS.iter().filter(|setting| setting.form == Form::Secrets) {
        text.push_str(&format!("  {} [env: {}]: {}\n", setting.key, setting.variable(), setting.help));
    }
    text.push_str(
        "\nA setting comes from its flag, else from the environment, else from the file, else it has its default.\n",
    );
    text.push_str(
        "In the file, a setting such as limits.body_bytes_max stands as body_bytes_max in the table [limits].",
    );
    text
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .env("PUNCTUAL_CONFIG")
            .value_parser(value_parser!(PathBuf))
            .help("a TOML file with settings");
        let print_config = Arg::new("print_config")
            .long("print-config")
            .action(ArgAction::SetTrue)
            .help("show every setting with where it came from, and end");
        let visible = SETTINGS.iter().filter(|setting| setting.form != Form::Secrets);
        command.arg(config).arg(print_config).args(visible.map(argument)).after_help(secrets_help())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.config = matches.get_one::<PathBuf>("config").cloned();
        self.print_config = matches.get_flag("print_config");
        for setting in SETTINGS.iter().filter(|setting| setting.form != Form::Secrets) {
            if let Some(text) = matches.get_one::<String>(setting.key) {
                self.given.insert(setting.key, text.clone());
            }
        }
        Ok(())
    }
}
