//! What must be on the machine before anything is worth starting.

use std::process::{Command, Stdio};

/// Programs that the tests need: how to ask for them, and why.
const NEEDED: &[(&str, &[&str], &str)] = &[
    ("cargo", &["--version"], "builds everything"),
    ("cargo", &["fmt", "--version"], "formatting is checked: `rustup component add rustfmt`"),
    ("cargo", &["clippy", "--version"], "lints are checked: `rustup component add clippy`"),
    ("python3", &["-c", "import venv, ensurepip"], "tests speak to the broker from another language"),
];

/// Fails with all that is missing, rather than with the first test that misses it.
pub(crate) fn require() -> Result<(), String> {
    let missing: Vec<String> = NEEDED
        .iter()
        .filter(|(program, arguments, _)| !answers(program, arguments))
        .map(|(program, arguments, reason)| format!("`{program} {}` does not work ({reason})", arguments.join(" ")))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("something is missing:\n  {}", missing.join("\n  "))) }
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut asked = Command::new(program);
    asked.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_or_fails_does_not_answer() {
        assert!(answers("cargo", &["--version"]));
        assert!(!answers("cargo", &["no-such-command"]));
        assert!(!answers("no-such-program", &[]));
    }
}
