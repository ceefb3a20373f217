//! Every error code has a page, and every page a code.

use super::{Finding, Tree};

const RULE: &str = "error-pages";
const CODES: &str = "crates/broker-api/src/error.rs";
const PAGES: &str = "docs/errors";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let slugs = slugs(tree.file(CODES).unwrap_or(""));
    if slugs.is_empty() {
        return vec![Finding::of(RULE, CODES, "no `codes!` with a line `Name = \"slug\", Kind;` is found")];
    }
    let pages: Vec<(&str, &str)> = tree
        .folder(PAGES)
        .filter_map(|(name, text)| Some((name.strip_suffix(".md")?, text)))
        .filter(|(name, _)| *name != "README")
        .collect();
    let mut findings = Vec::new();
    for (line, slug) in &slugs {
        match pages.iter().find(|(name, _)| name == slug) {
            None => {
                findings.push(Finding::at(RULE, CODES, *line, format!("code `{slug}` has no page {PAGES}/{slug}.md")))
            }
            Some((_, text)) if !text.contains(slug) => {
                findings.push(Finding::of(RULE, &format!("{PAGES}/{slug}.md"), "the page does not name its code"));
            }
            Some(_) => {}
        }
    }
    for (name, _) in pages.iter().filter(|(name, _)| !slugs.iter().any(|(_, slug)| slug == name)) {
        findings.push(Finding::of(RULE, &format!("{PAGES}/{name}.md"), "no code has this name"));
    }
    findings
}

/// The slugs of the lines `Name = "slug", Kind;` after `codes! {`, with their line numbers.
fn slugs(source: &str) -> Vec<(usize, &str)> {
    source
        .lines()
        .zip(1..)
        .skip_while(|(line, _)| !line.starts_with("codes! {"))
        .take_while(|(line, _)| *line != "}")
        .filter_map(|(line, number)| {
            let (_, rest) = line.split_once("= \"")?;
            let (slug, kind) = rest.split_once('"')?;
            (kind.starts_with(',') && kind.ends_with(';')).then_some((number, slug))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "codes! {\n    /// Docs.\n    First = \"first_code\", Invalid;\n    Second = \"second\", Internal;\n}\n";

    #[test]
    fn a_code_without_a_page_a_page_without_a_code_and_a_page_of_another_are_reported() {
        let tree = Tree::of(&[
            (CODES, SOURCE),
            ("docs/errors/README.md", "# All"),
            ("docs/errors/second.md", "# Something else"),
            ("docs/errors/third.md", "# third"),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            findings,
            [
                "crates/broker-api/src/error.rs:3: [error-pages] code `first_code` has no page docs/errors/first_code.md",
                "docs/errors/second.md: [error-pages] the page does not name its code",
                "docs/errors/third.md: [error-pages] no code has this name",
            ]
        );
    }

    #[test]
    fn a_source_in_which_no_code_is_found_is_a_violation_and_not_a_pass() {
        assert_eq!(check(&Tree::of(&[(CODES, "enum Code {}")])).len(), 1);
    }
}
