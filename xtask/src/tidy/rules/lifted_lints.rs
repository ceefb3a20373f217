//! Where a lint is lifted, the reason stands beside it.

use super::{Finding, Tree};

const RULE: &str = "lifted-lints";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.sources() {
        for at in code.words("allow").chain(code.words("expect")) {
            let (before, after) = code.text().split_at(at);
            let is_attribute = before.ends_with("#[") || before.ends_with("#![");
            let gives_reason = after.split(']').next().is_some_and(|attribute| attribute.contains("reason ="));
            if is_attribute && !gives_reason {
                let message = "lifts a lint without `reason = \"...\"`";
                findings.push(Finding::at(RULE, path, code.line_of(at), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lint_lifted_without_a_reason_is_reported() {
        let source = "//! A.\n#![allow(dead_code)]\n#[allow(clippy::x, reason = \"it is [so]\")]\n#[expect(\n  clippy::y\n)]\nfn allow() { expect(\"reason =\") }\n";
        let findings: Vec<String> = check(&Tree::of(&[("a.rs", source)])).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "a.rs:2: [lifted-lints] lifts a lint without `reason = \"...\"`",
                "a.rs:4: [lifted-lints] lifts a lint without `reason = \"...\"`",
            ]
        );
    }
}
