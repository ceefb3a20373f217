//! A file is read in one sitting and a function on one screen.

use super::super::code::is_word;
use super::super::ratchet::{LongFile, LongFunction};
use super::{Finding, Tree};

const RULE: &str = "lengths";

/// Lines from which a file must give a reason.
const FILE_LINES_ASK: usize = 400;
/// Lines that no file may have.
const FILE_LINES_MAX: usize = 800;
/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;
/// How far under its entry a file or function may be before the entry must follow it down.
const SLACK_LINES: usize = 30;
/// Where the entries stand.
const TABLE: &str = "xtask/src/tidy/ratchet.rs";

pub(super) fn files(tree: &Tree, allowed: &[LongFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        let lines = text.lines().count();
        let entry = allowed.iter().find(|entry| entry.path == path);
        let lines_max = entry.map_or(FILE_LINES_ASK, |entry| entry.lines_max.min(FILE_LINES_MAX));
        if lines > lines_max {
            let message = format!("has {lines} lines and may have {lines_max}: split it, or give a reason in {TABLE}");
            findings.push(Finding::of(RULE, path, message));
        }
    }
    for entry in allowed {
        let lines = tree.file(entry.path).map_or(0, |text| text.lines().count());
        findings.extend(stale(entry.path, "the file", lines, entry.lines_max, FILE_LINES_ASK));
        findings.extend(without_reason(entry.path, entry.reason));
    }
    findings
}

pub(super) fn functions(tree: &Tree, allowed: &[LongFunction]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = vec![0; allowed.len()];
    for (path, _) in tree.sources() {
        for function in functions_of(tree, path) {
            let entry = allowed.iter().position(|entry| entry.path == path && entry.name == function.name);
            let lines_max = entry.and_then(|at| allowed.get(at)).map_or(FUNCTION_LINES_MAX, |entry| entry.lines_max);
            if let Some(longest) = entry.and_then(|at| seen.get_mut(at)) {
                *longest = function.lines.max(*longest);
            }
            if function.lines > lines_max {
                let Function { name, line, lines } = function;
                let message = format!("`{name}` has {lines} lines and may have {lines_max}: split it");
                findings.push(Finding::at(RULE, path, line, message));
            }
        }
    }
    for (entry, lines) in allowed.iter().zip(seen) {
        let what = format!("`{}`", entry.name);
        findings.extend(stale(entry.path, &what, lines, entry.lines_max, FUNCTION_LINES_MAX));
        findings.extend(without_reason(entry.path, entry.reason));
    }
    findings
}

/// An entry that is no longer needed, or that has fallen behind what it allows.
fn stale(path: &str, what: &str, lines: usize, lines_max: usize, free: usize) -> Option<Finding> {
    if lines <= free {
        let message = format!("{what} of {path} has {lines} lines and needs no entry any more: remove it");
        return Some(Finding::of(RULE, TABLE, message));
    }
    let message = format!("{what} of {path} has {lines} lines: lower its entry from {lines_max}");
    (lines + SLACK_LINES < lines_max).then(|| Finding::of(RULE, TABLE, message))
}

fn without_reason(path: &str, reason: &str) -> Option<Finding> {
    reason.is_empty().then(|| Finding::of(RULE, TABLE, format!("the entry of {path} gives no reason")))
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

fn functions_of(tree: &Tree, path: &str) -> Vec<Function> {
    let Some((_, code)) = tree.sources().find(|(source, _)| *source == path) else { return Vec::new() };
    code.words("fn")
        .filter_map(|at| {
            let head = code.text().get(at + 2..)?.trim_start();
            let name: String = head.chars().take_while(|c| is_word(*c)).collect();
            let body = code.body_after(at)?;
            let line = code.line_of(at);
            let lines = code.line_of(body.end - 1) + 1 - line;
            (!name.is_empty()).then_some(Function { name, line, lines })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(Finding::to_string).collect()
    }

    fn function_of(lines: usize) -> String {
        format!("fn long(x: [u8; 4]) {{\n{}}}\n", "    f();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_over_400_lines_needs_an_entry_and_over_800_none_helps() {
        let (long, endless) = ("\n".repeat(401), "\n".repeat(801));
        let tree = Tree::of(&[("a.rs", &long), ("b.rs", &long), ("c.rs", &endless)]);
        let allowed = [
            LongFile { path: "b.rs", lines_max: 401, reason: "a table" },
            LongFile { path: "c.rs", lines_max: 801, reason: "a table" },
        ];
        let findings = text(&files(&tree, &allowed));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("a.rs: [lengths] has 401 lines and may have 400"), "{findings:?}");
        assert!(findings[1].starts_with("c.rs: [lengths] has 801 lines and may have 800"), "{findings:?}");
    }

    #[test]
    fn an_entry_that_is_not_needed_or_too_high_or_without_reason_is_reported() {
        let (short, long) = ("\n".repeat(399), "\n".repeat(500));
        let tree = Tree::of(&[("a.rs", &short), ("b.rs", &long), ("c.rs", &long)]);
        let allowed = [
            LongFile { path: "a.rs", lines_max: 420, reason: "a table" },
            LongFile { path: "b.rs", lines_max: 531, reason: "a table" },
            LongFile { path: "c.rs", lines_max: 500, reason: "" },
            LongFile { path: "gone.rs", lines_max: 500, reason: "a table" },
        ];
        assert_eq!(files(&tree, &allowed).len(), 4, "{:?}", text(&files(&tree, &allowed)));
    }

    #[test]
    fn a_function_over_70_lines_is_reported_where_it_starts() {
        let source = format!("//! A.\n\n{}{}", function_of(70), function_of(71).replace("long", "longer"));
        let findings = text(&functions(&Tree::of(&[("a.rs", &source)]), &[]));
        assert_eq!(findings, ["a.rs:73: [lengths] `longer` has 71 lines and may have 70: split it"]);
    }

    #[test]
    fn a_function_with_an_entry_may_be_as_long_as_it_says() {
        let source = function_of(80);
        let tree = Tree::of(&[("a.rs", &source)]);
        let entry = |lines_max| [LongFunction { path: "a.rs", name: "long", lines_max, reason: "one match" }];
        assert_eq!(functions(&tree, &entry(80)).len(), 0);
        assert_eq!(functions(&tree, &entry(79)).len(), 1);
        assert_eq!(functions(&tree, &entry(111)).len(), 1, "an entry far above the function must come down");
    }
}
