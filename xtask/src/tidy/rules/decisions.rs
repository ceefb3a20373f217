//! A decision record answers the four questions that a newcomer asks, and has a number of its own.

use std::collections::BTreeMap;

use super::{Finding, Tree};

const RULE: &str = "decisions";
const FOLDER: &str = "docs/adr";
const HEADINGS: &[&str] = &["## Context", "## Choice", "## Price", "## What would change our mind"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, text) in tree.folder(FOLDER).filter(|(name, _)| *name != "README.md") {
        let path = format!("{FOLDER}/{name}");
        let Some(number) = number_of(name) else {
            findings.push(Finding::of(RULE, &path, "is not named like `0001-what-was-decided.md`"));
            continue;
        };
        if let Some(other) = numbers.insert(number, name) {
            findings.push(Finding::of(RULE, &path, format!("has the number of {other}")));
        }
        for heading in HEADINGS.iter().filter(|heading| !has_section(text, heading)) {
            findings.push(Finding::of(RULE, &path, format!("has nothing under `{heading}`")));
        }
    }
    findings
}

fn number_of(name: &str) -> Option<&str> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_number = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !title.is_empty()).then_some(number)
}

/// Whether the heading stands on a line of its own and something stands under it.
fn has_section(text: &str, heading: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| line.trim_end() != heading).skip(1);
    lines.find(|line| !line.trim().is_empty()).is_some_and(|line| !line.starts_with("## "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "# 1\n\n## Context\n\nA.\n\n## Choice\n\nB.\n\n## Price\n\nC.\n\n## What would change our mind\n\nD.\n";

    #[test]
    fn a_record_with_a_missing_or_empty_section_a_taken_number_or_a_wrong_name_is_reported() {
        let tree = Tree::of(&[
            ("docs/adr/README.md", "# How"),
            ("docs/adr/0001-first.md", WHOLE),
            ("docs/adr/0001-second.md", WHOLE),
            ("docs/adr/0002-third.md", &WHOLE.replace("C.\n", "")),
            ("docs/adr/0003-fourth.md", &WHOLE.replace("## Context", "## Why")),
            ("docs/adr/fifth.md", WHOLE),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "docs/adr/0001-second.md: [decisions] has the number of 0001-first.md",
                "docs/adr/0002-third.md: [decisions] has nothing under `## Price`",
                "docs/adr/0003-fourth.md: [decisions] has nothing under `## Context`",
                "docs/adr/fifth.md: [decisions] is not named like `0001-what-was-decided.md`",
            ]
        );
    }
}
