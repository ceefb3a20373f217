//! One version of each dependency; an older one beside it needs a line in `deny.toml` that says who still asks for it.

use std::collections::BTreeMap;

use super::policy::Policy;
use super::{Dependencies, Finding};

const RULE: &str = "versions";

pub(super) fn check(dependencies: &Dependencies, policy: &Policy) -> Vec<Finding> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in dependencies.packages().filter(|package| package.source.is_some()) {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let mut findings = Vec::new();
    for (name, versions) in &versions {
        let is_skipped =
            |version: &&&str| policy.older_versions.iter().any(|(_, skip, _)| *skip == format!("{name}@{version}"));
        let unskipped: Vec<&&str> = versions.iter().filter(|version| !is_skipped(version)).collect();
        if unskipped.len() > 1 {
            let message =
                format!("{name} has the versions {unskipped:?}: agree on one, or skip the older with a reason");
            findings.push(Finding::of(RULE, "deny.toml", message));
        }
    }
    for (line, skip, reason) in &policy.older_versions {
        let (name, version) = skip.split_once('@').unwrap_or((skip, ""));
        let is_needed = versions.get(name).is_some_and(|all| all.len() > 1 && all.contains(&version));
        if !is_needed {
            findings.push(Finding::at(
                RULE,
                "deny.toml",
                *line,
                format!("`{skip}` stands beside no other version: remove it"),
            ));
        }
        if reason.is_empty() {
            findings.push(Finding::at(RULE, "deny.toml", *line, format!("`{skip}` is skipped without a reason")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::super::dependencies::planted;
    use super::*;

    const REGISTRY: Option<&str> = Some("registry");

    fn findings(skips: &[(&str, &str)]) -> Vec<String> {
        let older_versions = skips.iter().map(|(skip, reason)| (7, (*skip).to_owned(), (*reason).to_owned())).collect();
        let world = planted(&[
            ("twice", "1.0.0", "MIT", REGISTRY, &[]),
            ("twice", "2.0.0", "MIT", REGISTRY, &[]),
            ("once", "1.0.0", "MIT", REGISTRY, &[]),
        ]);
        let policy = Policy { licences: Vec::new(), older_versions };
        check(&world, &policy).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_second_version_needs_a_skip_with_a_reason() {
        assert_eq!(findings(&[]).len(), 1, "{:?}", findings(&[]));
        assert_eq!(findings(&[("twice@1.0.0", "x asks for it")]), Vec::<String>::new());
        assert_eq!(
            findings(&[("twice@1.0.0", "")]),
            ["deny.toml:7: [versions] `twice@1.0.0` is skipped without a reason"]
        );
    }

    #[test]
    fn a_skip_that_is_not_needed_is_reported() {
        let found = findings(&[("twice@1.0.0", "x"), ("once@1.0.0", "x"), ("gone@1.0.0", "x")]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
