//! What points at a file of the repository points at one that is there.
//!
//! Two kinds of pointer: a link in Markdown without a scheme, and a document named in capitals (`CONTRIBUTING.md`)
//! wherever it stands, for comments name documents that way.

use super::{Finding, Tree};

const RULE: &str = "links";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        for (line, number) in text.lines().zip(1..) {
            let links = if path.ends_with(".md") { links_in(line) } else { Vec::new() };
            for target in links.into_iter().filter(|target| !leads_somewhere(tree, path, target)) {
                findings.push(Finding::at(RULE, path, number, format!("the link `{target}` leads nowhere")));
            }
            for name in documents_in(line).filter(|name| !has_file_named(tree, name)) {
                findings.push(Finding::at(RULE, path, number, format!("there is no document `{name}`")));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` that are paths: no scheme, no mere anchor.
fn links_in(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with(['#', '/'])).collect()
}

fn leads_somewhere(tree: &Tree, from: &str, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or(target);
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                folders.pop();
            }
            name => folders.push(name),
        }
    }
    let path = folders.join("/");
    tree.files().any(|(file, _)| file.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Names like `README.md`, of at least three capitals.
fn documents_in(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))).filter_map(|word| {
        let word = word.trim_end_matches('.');
        let stem = word.strip_suffix(".md")?;
        (stem.len() >= 3 && stem.chars().all(|c| c.is_ascii_uppercase())).then_some(word)
    })
}

fn has_file_named(tree: &Tree, name: &str) -> bool {
    tree.files().any(|(path, _)| path.rsplit('/').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_names_that_lead_nowhere_are_reported() {
        let tree = Tree::of(&[
            ("README.md", "[a](docs/a.md) [b](docs/b.md#x) [c](https://example.org/c.md) [d](#d) [e](docs) [f](docs/)"),
            ("docs/a.md", "[up](../README.md#x) [wrong](../docs/c.md)"),
            ("src/a.rs", concat!("//! README.md says how; MISSING", ".md does not.")),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "README.md:1: [links] the link `docs/b.md#x` leads nowhere".to_owned(),
                "docs/a.md:1: [links] the link `../docs/c.md` leads nowhere".to_owned(),
                format!("src/a.rs:1: [links] there is no document `{}`", concat!("MISSING", ".md")),
            ]
        );
    }
}
