//! Every dependency comes from crates.io under a licence that the project may ship.

use super::policy::Policy;
use super::{Dependencies, Finding};

const RULE: &str = "licences";
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(dependencies: &Dependencies, policy: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |message: String| findings.push(Finding::of(RULE, "deny.toml", message));
    if policy.licences.is_empty() {
        report("allows no licence at all: the list is missing or cannot be read".to_owned());
    }
    for package in dependencies.packages() {
        let Some(source) = &package.source else { continue };
        let name = format!("{} {}", package.name, package.version);
        if source != CRATES_IO {
            report(format!("{name} comes from {source}, not from crates.io"));
        }
        match &package.licence {
            None => report(format!("{name} names no licence")),
            Some(licence) if !is_allowed(licence, &policy.licences) => {
                report(format!("{name} has the licence `{licence}`, which is not on the list"));
            }
            Some(_) => {}
        }
    }
    findings
}

/// Whether an SPDX expression can be met with the allowed licences; `/` is the old way to say `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any_of(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut met = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words, allowed);
    }
    met
}

fn all_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    match words.next() {
        Some("(") => {
            let met = any_of(words, allowed);
            words.next_if_eq(&")").is_some() && met
        }
        Some(licence) => {
            let exception = words.next_if_eq(&"WITH").and_then(|_| words.next());
            let whole = exception.map_or(licence.to_owned(), |exception| format!("{licence} WITH {exception}"));
            // An exception only ever allows more than the licence alone.
            allowed.contains(&whole) || allowed.iter().any(|name| name == licence)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::dependencies::planted;
    use super::*;

    fn policy(licences: &[&str]) -> Policy {
        Policy { licences: licences.iter().map(|name| (*name).to_owned()).collect(), older_versions: Vec::new() }
    }

    #[test]
    fn an_expression_is_met_by_one_side_of_or_and_by_both_of_and() {
        let allowed = policy(&["MIT", "Unicode-3.0", "Apache-2.0"]).licences;
        for met in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(met, &allowed), "{met}");
        }
        for unmet in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND ISC", "", "MIT ISC", "(MIT"] {
            assert!(!is_allowed(unmet, &allowed), "{unmet}");
        }
    }

    #[test]
    fn a_foreign_licence_a_foreign_source_and_an_empty_list_are_reported() {
        let world = planted(&[
            ("good", "1.0.0", "MIT", Some(CRATES_IO), &[]),
            ("shared", "1.0.0", "GPL-3.0", Some(CRATES_IO), &[]),
            ("elsewhere", "1.0.0", "MIT", Some("git+https://example.org/x"), &[]),
            ("punctual", "0.1.0", "", None, &[]),
        ]);
        let findings: Vec<String> = check(&world, &policy(&["MIT"])).iter().map(Finding::to_string).collect();
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.iter().any(|line| line.contains("shared 1.0.0 has the licence `GPL-3.0`")), "{findings:?}");
        assert!(findings.iter().any(|line| line.contains("elsewhere 1.0.0 comes from git+")), "{findings:?}");
        assert!(check(&world, &policy(&[])).iter().any(|finding| finding.to_string().contains("no licence at all")));
    }
}
