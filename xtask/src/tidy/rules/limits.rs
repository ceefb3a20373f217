//! Every limit is enforced somewhere and met by a test.
//!
//! Limits stand in files named `limits.rs`. One that no other file names bounds nothing; one that no test names (by its
//! own name, or in small letters as a setting of the same name) may bound nothing without anybody noticing.

use super::super::code::{Code, is_word};
use super::super::ratchet::UntestedLimits;
use super::{Finding, Tree};

const RULE: &str = "limits";
const TABLE: &str = "xtask/src/tidy/ratchet.rs";

struct Limit<'a> {
    path: &'a str,
    name: String,
    line: usize,
}

pub(super) fn check(tree: &Tree, untested_allowed: &[UntestedLimits]) -> Vec<Finding> {
    let limits: Vec<Limit<'_>> = tree.sources().flat_map(|(path, code)| limits_of(path, code)).collect();
    let mut findings = stale_entries(tree, &limits, untested_allowed);
    for limit in &limits {
        let mut report = |message| findings.push(Finding::at(RULE, limit.path, limit.line, message));
        if !is_named_elsewhere(tree, limit) {
            report(format!("limit `{}` is named nowhere else: enforce it or remove it", limit.name));
        }
        let is_allowed = |entry: &UntestedLimits| entry.path == limit.path && entry.names.contains(&&*limit.name);
        if !is_named_by_a_test(tree, &limits, limit) && !untested_allowed.iter().any(is_allowed) {
            report(format!("limit `{}` is named by no test: meet it in one", limit.name));
        }
    }
    findings
}

fn stale_entries(tree: &Tree, limits: &[Limit<'_>], untested_allowed: &[UntestedLimits]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |message| findings.push(Finding::of(RULE, TABLE, message));
    for entry in untested_allowed {
        if entry.reason.is_empty() {
            report(format!("an entry of {} gives no reason", entry.path));
        }
        for name in entry.names {
            match limits.iter().find(|limit| limit.path == entry.path && limit.name == *name) {
                None => report(format!("{} has no limit `{name}`: remove its entry", entry.path)),
                Some(limit) if is_named_by_a_test(tree, limits, limit) => {
                    report(format!("`{name}` of {} is named by a test now: remove its entry", entry.path));
                }
                Some(_) => {}
            }
        }
    }
    findings
}

fn limits_of<'a>(path: &'a str, code: &Code) -> Vec<Limit<'a>> {
    if !path.ends_with("/limits.rs") {
        return Vec::new();
    }
    let limit_at = |at: usize| {
        let (before, after) = code.text().split_at(at);
        let is_public = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        let name: String = after["const".len()..].trim_start().chars().take_while(|c| is_word(*c)).collect();
        let is_constant = name.len() > 1 && name.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_');
        (is_public && is_constant).then(|| Limit { path, name, line: code.line_of(at) })
    };
    code.words("const").filter_map(limit_at).collect()
}

fn is_named_elsewhere(tree: &Tree, limit: &Limit<'_>) -> bool {
    let elsewhere = |(path, code): (&str, &Code)| {
        path != limit.path
            && !tree.is_test_file(path)
            && code.words(&limit.name).any(|at| !code.is_test_line(code.line_of(at)))
    };
    tree.sources().any(elsewhere)
}

/// Whether a test names it; a name that several crates give to a limit counts in the tests of its own crate only.
fn is_named_by_a_test(tree: &Tree, limits: &[Limit<'_>], limit: &Limit<'_>) -> bool {
    let is_shared = limits.iter().filter(|other| other.name == limit.name).count() > 1;
    let own_crate = limit.path.split("src/").next().unwrap_or("");
    let setting = limit.name.to_lowercase();
    tree.sources().filter(|(path, _)| !is_shared || path.starts_with(own_crate)).any(|(path, code)| {
        let is_test_file = tree.is_test_file(path);
        let mut places = code.words(&limit.name).chain(code.words(&setting));
        places.any(|at| is_test_file || code.is_test_line(code.line_of(at)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "pub const MET_MAX: u8 = 1;\npub const FREE_MAX: u8 = 2;\npub const BARE_MAX: u8 = 3;\npub const fn f() {}\nconst OWN: u8 = 4;";

    fn tree() -> Tree {
        Tree::of(&[
            ("crates/x/src/limits.rs", LIMITS),
            (
                "crates/x/src/a.rs",
                "fn f() { MET_MAX + limits::BARE_MAX }\n#[cfg(test)] mod tests { fn g() { met_max } }",
            ),
        ])
    }

    #[test]
    fn a_limit_that_is_not_enforced_or_not_tested_is_reported() {
        let findings: Vec<String> = check(&tree(), &[]).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "crates/x/src/limits.rs:2: [limits] limit `FREE_MAX` is named nowhere else: enforce it or remove it",
                "crates/x/src/limits.rs:2: [limits] limit `FREE_MAX` is named by no test: meet it in one",
                "crates/x/src/limits.rs:3: [limits] limit `BARE_MAX` is named by no test: meet it in one",
            ]
        );
    }

    #[test]
    fn an_entry_for_a_limit_that_is_tested_or_gone_or_without_reason_is_reported() {
        let entry = |names, reason| UntestedLimits { path: "crates/x/src/limits.rs", names, reason };
        let allowed = [entry(&["MET_MAX", "FREE_MAX", "GONE_MAX"], "x"), entry(&["BARE_MAX"], "")];
        let findings: Vec<String> = check(&tree(), &allowed).iter().map(Finding::to_string).collect();
        assert_eq!(findings.len(), 4, "{findings:?}");
        assert!(
            findings.iter().any(|line| line.contains("`MET_MAX` of crates/x/src/limits.rs is named by a test now")),
            "{findings:?}"
        );
        assert!(findings.iter().any(|line| line.contains("has no limit `GONE_MAX`")), "{findings:?}");
        assert!(findings.iter().any(|line| line.contains("gives no reason")), "{findings:?}");
    }

    #[test]
    fn a_test_of_one_crate_does_not_meet_the_limit_of_the_same_name_in_another() {
        let limits = "pub const WAIT_MAX: u8 = 1;";
        let tree = Tree::of(&[
            ("crates/x/src/limits.rs", limits),
            ("crates/x/src/a.rs", "fn f() { WAIT_MAX }"),
            ("crates/y/src/limits.rs", limits),
            ("crates/y/tests/a.rs", "fn f() { WAIT_MAX }"),
        ]);
        let findings: Vec<String> = check(&tree, &[]).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            ["crates/x/src/limits.rs:1: [limits] limit `WAIT_MAX` is named by no test: meet it in one"]
        );
    }
}
