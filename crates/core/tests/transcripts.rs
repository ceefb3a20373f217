//! Scenarios as text: `testdata/*.txt`, a verb a line, what it answered indented under it.
//!
//! `PUNCTUAL_UPDATE=1 cargo test -p punctual-core --test transcripts` writes what happens now into
//! the files; review the difference before keeping it. The verbs are described in
//! `testdata/README.md`.

mod support;
mod transcript;

use std::{fs, path::PathBuf};

use transcript::Stage;

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Plays a transcript: the same lines with what was answered under each verb.
fn play(script: &str) -> String {
    let mut stage = Stage::new();
    let mut out = String::new();
    for line in script.lines().filter(|line| !line.starts_with("    ")) {
        out.push_str(line);
        out.push('\n');
        let verb = line.split('#').next().unwrap_or_default().trim();
        if !verb.is_empty() {
            for answer in stage.perform(verb) {
                out.push_str("    ");
                out.push_str(&answer);
                out.push('\n');
            }
        }
    }
    out
}

#[test]
fn every_transcript_happens_again_as_it_is_written() {
    let update = std::env::var_os("PUNCTUAL_UPDATE").is_some();
    let only = std::env::var("PUNCTUAL_ONLY").ok();
    let mut paths: Vec<_> = fs::read_dir(testdata())
        .expect("testdata is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .filter(|path| only.as_ref().is_none_or(|only| path.to_string_lossy().contains(only)))
        .collect();
    paths.sort();
    assert!(only.is_some() || paths.len() >= 30, "{} transcripts: some are missing", paths.len());
    let mut different = Vec::new();
    for path in paths {
        let script = fs::read_to_string(&path).expect("a transcript is text");
        let played = std::panic::catch_unwind(|| play(&script))
            .unwrap_or_else(|_| panic!("the core panicked in {}", path.display()));
        if played != script {
            if update {
                fs::write(&path, played).expect("a transcript can be written");
            } else {
                let line = script.lines().zip(played.lines()).position(|(old, new)| old != new);
                let line = line.unwrap_or_else(|| script.lines().count().min(played.lines().count()));
                different.push(format!(
                    "{}:{}\n  written:  {}\n  happened: {}",
                    path.display(),
                    line + 1,
                    script.lines().nth(line).unwrap_or("(the end)").trim(),
                    played.lines().nth(line).unwrap_or("(the end)").trim(),
                ));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{}\nif this is meant: PUNCTUAL_UPDATE=1 cargo test -p punctual-core --test transcripts",
        different.join("\n")
    );
}

#[test]
fn a_transcript_that_says_something_else_is_told_apart() {
    let script = "topic t1\npublish a\n    something else\n";
    assert_ne!(play(script), script);
    assert_eq!(play(&play(script)), play(script), "playing again changes nothing");
}
