//! Compiles every test once and learns from cargo which programs came out of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::suite::Suite;

/// Compiles the tests of the whole workspace, and the binaries that they run.
pub(super) fn tests(root: &Path) -> Result<Vec<Suite>, String> {
    let output = Command::new("cargo")
        .args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run `cargo test --no-run`: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".to_owned());
    }
    suites_in(&String::from_utf8_lossy(&output.stdout))
}

fn suites_in(messages: &str) -> Result<Vec<Suite>, String> {
    let mut binaries: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut programs = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).map_err(|error| format!("cannot read cargo: {error}"))?;
        let Some(program) = message["executable"].as_str() else { continue };
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let (manifest, target) = (text(&message["manifest_path"]), text(&message["target"]["name"]));
        if message["profile"]["test"] == true {
            programs.push((manifest, target, text(&message["target"]["kind"][0]), program.to_owned()));
        } else {
            binaries.entry(manifest).or_default().push((target, program.to_owned()));
        }
    }
    let mut suites: Vec<Suite> = programs
        .into_iter()
        .map(|(manifest, target, kind, program)| {
            let folder = Path::new(&manifest).parent().unwrap_or(Path::new("."));
            let mut command = Command::new(program);
            // As cargo itself starts a test.
            command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
            for (name, binary) in binaries.get(&manifest).into_iter().flatten() {
                command.env(format!("CARGO_BIN_EXE_{name}"), binary);
            }
            Suite { name: name(folder, &kind, &target), command }
        })
        .collect();
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(suites)
}

/// The crate's folder for the tests inside it, and the file's name after it for those beside it.
fn name(folder: &Path, kind: &str, target: &str) -> String {
    let folder = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match kind {
        "lib" | "proc-macro" => folder,
        "bin" => format!("{folder}/bin-{target}"),
        _ => format!("{folder}/{target}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_test_are_suites_named_by_folder_and_target() {
        let message = |folder: &str, kind: &str, target: &str, test: bool, executable: &str| {
            serde_json::json!({
                "reason": "compiler-artifact", "manifest_path": format!("/r/{folder}/Cargo.toml"),
                "target": {"name": target, "kind": [kind]}, "profile": {"test": test}, "executable": executable,
            })
            .to_string()
        };
        let messages = [
            message("cli", "bin", "punctual", true, "/t/a"),
            message("cli", "bin", "punctual", false, "/t/punctual"),
            message("cli", "test", "serve", true, "/t/b"),
            message("crates/core", "lib", "punctual_core", true, "/t/c"),
            "{\"reason\":\"build-finished\",\"success\":true}".to_owned(),
        ];
        let suites = suites_in(&messages.join("\n")).expect("read");
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["cli/bin-punctual", "cli/serve", "core"]);
        let serve = suites.iter().find(|suite| suite.name == "cli/serve").expect("listed");
        assert_eq!(serve.command.get_current_dir(), Some(Path::new("/r/cli")));
        assert!(serve.command.get_envs().any(|(key, value)| {
            key == "CARGO_BIN_EXE_punctual" && value.is_some_and(|value| value == "/t/punctual")
        }));
    }
}
