//! The steps that another program does, each announced by its name.

use std::path::Path;
use std::process::{Command, Stdio};

/// Announces a step.
pub(crate) fn say(step: &str) {
    eprintln!("==> {step}");
}

/// Every source is formatted.
pub(crate) fn formatting(root: &Path) -> Result<(), String> {
    cargo(root, &["fmt", "--all", "--check"]).map_err(|error| format!("{error}; `cargo xtask fix` formats"))
}

/// No warning anywhere, tests included.
pub(crate) fn clippy(root: &Path) -> Result<(), String> {
    cargo(root, &["clippy", "--locked", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}

/// Licences, versions, sources and advisories, when cargo-deny is there. `tidy` checks the first three on every machine.
pub(crate) fn deny(root: &Path) -> Result<(), String> {
    let mut asked = Command::new("cargo");
    asked.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if asked.status().is_ok_and(|status| status.success()) {
        return cargo(root, &["deny", "--all-features", "check"]);
    }
    say("cargo deny: not installed, so advisories were not checked (`cargo install --locked cargo-deny`)");
    Ok(())
}

/// Runs cargo at the root and shows what it says.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let line = format!("cargo {}", arguments.join(" "));
    say(&line);
    let status = Command::new("cargo").args(arguments).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` failed with {status}")),
        Err(error) => Err(format!("cannot run `{line}`: {error}")),
    }
}
