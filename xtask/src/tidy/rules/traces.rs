//! The tree speaks of the broker, not of who or what wrote a line, nor of the machine it was written on.
//!
//! The words are spelled in halves here, so that the list does not find itself.

use super::{Finding, Tree};

const RULE: &str = "traces";

/// Folders that exist on one machine only. They count where a path starts, not inside a longer one.
const FOLDERS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/", "target"),
];

/// Words that count when they stand by themselves, written exactly so.
const WORDS: &[&str] = &[concat!("A", "I"), concat!("L", "LM"), concat!("L", "LMs")];

/// Phrases that count wherever they stand, in capitals or not.
const PHRASES: &[&str] = &[
    concat!("co-", "authored-by"),
    concat!("signed-", "off-by"),
    concat!("@", "author"),
    concat!("language ", "model"),
    concat!("this ", "session"),
    concat!("previous ", "session"),
    concat!("earlier ", "session"),
    concat!("coding ", "agent"),
    concat!("sub", "agent"),
    concat!("cla", "ude"),
    concat!("anth", "ropic"),
    concat!("open", "ai"),
    concat!("chat", "gpt"),
    concat!("co", "pilot"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        for (line, number) in text.lines().zip(1..) {
            if let Some(trace) = trace_in(line) {
                findings.push(Finding::at(RULE, path, number, format!("names `{trace}`, which is not of the broker")));
            }
        }
    }
    findings
}

fn trace_in(line: &str) -> Option<&'static str> {
    let lowercase = line.to_lowercase();
    let folder = FOLDERS.iter().find(|folder| stands_alone(line, folder, false));
    let word = || WORDS.iter().find(|word| stands_alone(line, word, true));
    let phrase = || PHRASES.iter().find(|phrase| lowercase.contains(**phrase));
    folder.or_else(word).or_else(phrase).copied()
}

/// Whether the text stands in the line with no letter or digit before it, nor (`whole`) after it.
fn stands_alone(line: &str, text: &str, whole: bool) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + text.len()..].chars().next();
        let joins_before = before.is_some_and(|c| c.is_alphanumeric() || "_.~})+/=-".contains(c));
        let joins_after = whole && after.is_some_and(|c| c.is_alphanumeric() || "_+/=-".contains(c));
        !(joins_before || joins_after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_speaks_of_its_writer_or_of_one_machine_is_reported() {
        for line in [
            concat!("see /ho", "me/someone/notes"),
            concat!("(/wo", "rk/main)"),
            concat!("CARGO_TARGET_DIR=\"/tmp/", "target-x\""),
            concat!("Co-", "Authored-By: Somebody"),
            concat!("asked an A", "I about it"),
            concat!("as agreed in an earlier ", "session"),
        ] {
            assert_eq!(check(&Tree::of(&[("a.md", line)])).len(), 1, "{line}");
        }
    }

    #[test]
    fn words_that_only_look_alike_are_not_reported() {
        for line in
            ["MAIL, FAIL and AIO", "https://example.org/work/x", "$HOME/work/", "a TLS session", "user-agent: x"]
        {
            assert_eq!(check(&Tree::of(&[("a.md", line)])).len(), 0, "{line}");
        }
    }
}
