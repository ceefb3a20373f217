//! The commands of the README and of guides, run as they stand there.
//!
//! Every block of shell is either preceded by `<!-- test: NAME -->` and run, or by
//! `<!-- not run: REASON -->` and left alone; one without either fails the test. Blocks run in the
//! order of the file, with one directory and one server for all of them. A block of `text` right
//! after a block of shell is what it prints; `…` in it stands for anything within its line.
//!
//! `cargo run --release -- serve …` starts the binary under test on free ports; where later blocks
//! say 7800 and 7801, those ports take their place. Any other `cargo run --release --` is the
//! binary too.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const SERVE: &str = "cargo run --release -- serve";
const RUN: &str = "cargo run --release --";

/// One block of shell.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// Its first line in the file, from 1.
    line: usize,
    name: String,
    commands: String,
    expected: Option<String>,
}

/// What stands before a block of shell.
enum Mark {
    Test(String),
    NotRun,
    Missing,
}

fn mark_of(line: &str) -> Option<Mark> {
    let comment = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    if let Some(name) = comment.strip_prefix("test:") {
        return Some(Mark::Test(name.trim().to_owned()));
    }
    comment.strip_prefix("not run:").filter(|reason| !reason.trim().is_empty()).map(|_| Mark::NotRun)
}

/// The blocks to run, or a sentence on each block that is not marked.
fn blocks(readme: &str) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut faults = Vec::new();
    let mut mark = Mark::Missing;
    // A block of text belongs to the block of shell before it when only blank lines lie between.
    let mut follows = false;
    let mut lines = readme.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.trim().strip_prefix("```") else {
            if let Some(found) = mark_of(line) {
                mark = found;
            } else if !line.trim().is_empty() {
                (mark, follows) = (Mark::Missing, false);
            }
            continue;
        };
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim().starts_with("```")).collect();
        let inside = inside.join("\n");
        let before = std::mem::replace(&mut mark, Mark::Missing);
        match language.trim() {
            "sh" | "bash" | "console" | "shell" => match before {
                Mark::Test(name) => {
                    blocks.push(Block { line: number + 1, name, commands: inside, expected: None });
                    follows = true;
                }
                Mark::NotRun => follows = false,
                Mark::Missing => {
                    faults.push(format!("the block in line {} has no `<!-- test: NAME -->` before it", number + 1));
                    follows = false;
                }
            },
            "text" if follows => {
                if let Some(block) = blocks.last_mut() {
                    block.expected = Some(inside);
                }
                follows = false;
            }
            _ => follows = false,
        }
    }
    if faults.is_empty() { Ok(blocks) } else { Err(faults.join("\n")) }
}

/// Whether a text is the expected one, `…` standing for anything within its line.
fn matches(expected: &str, actual: &str) -> bool {
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (expected.trim_end().lines().collect(), actual.trim_end().lines().collect());
    expected.len() == actual.len()
        && expected.iter().zip(&actual).all(|(expected, actual)| line_matches(expected, actual))
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let mut pieces = expected.trim_end().split('…');
    let Some(mut rest) = actual.trim_end().strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// The directory, the server and the ports that the blocks share.
struct Stage {
    directory: tempfile::TempDir,
    server: Option<Child>,
    ports: Vec<(&'static str, String)>,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let bin = directory.path().join("bin");
        fs::create_dir(&bin).expect("made");
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_punctual"));
        fs::write(bin.join("punctual"), script).expect("written");
        fs::set_permissions(bin.join("punctual"), fs::Permissions::from_mode(0o755)).expect("made executable");
        fs::create_dir(directory.path().join("work")).expect("made");
        Self { directory, server: None, ports: Vec::new() }
    }

    fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Starts the server of a line of the README, in place of one that runs already.
    fn serve(&mut self, line: &str) {
        self.end_server();
        let arguments = line.split(SERVE).nth(1).unwrap_or_default().trim().trim_end_matches('&');
        let script = format!("exec punctual serve --json --http 127.0.0.1:0 --grpc 127.0.0.1:0 {arguments}");
        let mut child = self.bash(&script).stdout(Stdio::piped()).spawn().expect("bash starts");
        let mut banner = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut banner).expect("it says where it listens");
        let banner: serde_json::Value =
            serde_json::from_str(&banner).unwrap_or_else(|error| panic!("{banner}: {error}"));
        let port = |door: &str| banner[door].as_str().and_then(|at| at.rsplit(':').next()).expect("a port").to_owned();
        self.ports = vec![("7800", port("http")), ("7801", port("grpc"))];
        self.server = Some(child);
    }

    fn bash(&self, script: &str) -> Command {
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", script]).current_dir(self.work()).stdin(Stdio::null());
        command.env("PATH", format!("{}:{path}", self.directory.path().join("bin").display()));
        if let Some((_, port)) = self.ports.iter().find(|(port, _)| *port == "7801") {
            // The README's commands find the broker at its default address.
            command.env("PUNCTUAL_SERVER", format!("127.0.0.1:{port}"));
        }
        command
    }

    fn run(&mut self, block: &Block) -> Result<(), String> {
        let mut script = String::new();
        for line in block.commands.lines() {
            if line.contains(SERVE) {
                self.serve(line);
                continue;
            }
            let mut line = line.replace(RUN, "punctual");
            for (port, real) in &self.ports {
                line = line.replace(port, real);
            }
            script.push_str(&line);
            script.push('\n');
        }
        let mut child =
            self.bash(&script).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("bash starts");
        let mut stdout = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("UTF-8");
        let status = child.wait().expect("its status");
        // Ports are shown as the README has them.
        for (port, real) in &self.ports {
            stdout = stdout.replace(&format!(":{real}"), &format!(":{port}"));
        }
        let told = format!("block `{}` in line {}", block.name, block.line);
        if !status.success() {
            return Err(format!("{told} ended with {status}; it printed:\n{stdout}"));
        }
        match &block.expected {
            Some(expected) if !script.trim().is_empty() && !matches(expected, &stdout) => {
                Err(format!("{told} printed:\n{stdout}\ninstead of:\n{expected}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn end_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().expect("it can be killed");
            server.wait().expect("it ends");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.end_server();
    }
}

#[test]
fn every_command_of_the_readme_does_what_the_readme_says() {
    run_all("README.md");
}

#[test]
fn every_command_of_the_guide_to_recurring_schedules_does_what_it_says() {
    run_all("docs/guides/recurring-schedules.md");
}

/// Runs every block of a document of the repository.
fn run_all(document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let blocks = blocks(&text).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(!blocks.is_empty(), "{document} shows no command");
    let mut stage = Stage::new();
    for block in &blocks {
        eprintln!("{} (line {})", block.name, block.line);
        stage.run(block).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

#[test]
fn a_block_of_shell_without_a_mark_is_a_fault() {
    let marked =
        "<!-- test: one -->\n\n```sh\necho a\n```\n\n```text\na\n```\n<!-- not run: takes a day -->\n```sh\nx\n```\n";
    let block = Block { line: 3, name: "one".into(), commands: "echo a".into(), expected: Some("a".into()) };
    assert_eq!(blocks(marked), Ok(vec![block]));
    for unmarked in ["```sh\nx\n```", "<!-- test: a -->\nprose\n```bash\nx\n```", "<!-- not run: -->\n```sh\nx\n```"] {
        assert!(blocks(unmarked).is_err_and(|fault| fault.contains("in line")), "{unmarked}");
    }
}

#[test]
fn dots_stand_for_anything_within_their_line_and_for_nothing_else() {
    for (expected, actual, same) in [
        ("a … c\n", "a bbb c", true),
        ("…", "anything", true),
        ("a…", "a", true),
        ("a…b…c", "a1b2b3c", true),
        ("a…b", "ab\n", true),
        ("a…b", "a\nb", false),
        ("a", "a\nb", false),
        ("a…aa", "aa", false),
        ("x…", "y", false),
    ] {
        assert_eq!(matches(expected, actual), same, "{expected:?} against {actual:?}");
    }
}

#[test]
fn a_block_that_fails_or_prints_something_else_is_a_fault() {
    let mut stage = Stage::new();
    let mut block = Block { line: 1, name: "b".into(), commands: "echo a".into(), expected: Some("a".into()) };
    assert_eq!(stage.run(&block), Ok(()));
    block.expected = Some("b".into());
    assert!(stage.run(&block).is_err());
    block.commands = "false | cat".into();
    block.expected = None;
    assert!(stage.run(&block).is_err());
}
