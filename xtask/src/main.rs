//! `cargo xtask`: what a machine enforces, in one place, for every machine.
//!
//! `check` says whether a change may go in and writes nothing, `test` is all of it with the tests and their budgets,
//! `tidy` is the house rules alone, `fix` may write. It knows the repository and cargo, and nothing of the broker.

mod fix;
mod step;
mod stopwatch;
mod suites;
mod tidy;
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use stopwatch::Stopwatch;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check          formatting, clippy, the house rules, licences and advisories; writes nothing
  test [NAME…]   all of check but advisories, then every test of the workspace against its budget;
                 with names, only the suites whose name contains one of them, and no checks
  tidy           the house rules alone
  fix            formats, and lets clippy mend what it can";

/// Exit code of a command line that cannot be read, as of the broker's own.
const USAGE_EXIT: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = repository_root();
    let outcome = match arguments.split_first() {
        Some((command, [])) if command == "check" => check(&root),
        Some((command, [])) if command == "tidy" => tidy(&root),
        Some((command, [])) if command == "fix" => fix::run(&root),
        Some((command, names)) if command == "test" && !names.iter().any(|name| name.starts_with('-')) => {
            test(&root, names)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(USAGE_EXIT);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(root: &Path) -> Result<(), String> {
    toolchain::require()?;
    step::formatting(root)?;
    tidy(root)?;
    step::clippy(root)?;
    step::deny(root)
}

fn test(root: &Path, names: &[String]) -> Result<(), String> {
    let stopwatch = Stopwatch::start();
    toolchain::require()?;
    if names.is_empty() {
        step::formatting(root)?;
        tidy(root)?;
        step::clippy(root)?;
    }
    suites::run(root, names, &stopwatch)
}

fn tidy(root: &Path) -> Result<(), String> {
    step::say("tidy");
    let violations = tidy::violations(root)?;
    if violations.is_empty() {
        return Ok(());
    }
    for violation in &violations {
        eprintln!("{violation}");
    }
    Err(format!("{} violations of the house rules (CONTRIBUTING.md says what they are for)", violations.len()))
}

/// The folder of the workspace.
pub(crate) fn repository_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}
