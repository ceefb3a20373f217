//! Every source opens by saying what it is.

use super::{Finding, Tree};

const RULE: &str = "module-docs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|(path, text)| path.ends_with(".rs") && !opens_with_docs(text))
        .map(|(path, _)| {
            let message = "does not open with `//!`: what it is, what it promises, what it deliberately does not know";
            Finding::at(RULE, path, 1, message)
        })
        .collect()
}

fn opens_with_docs(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_opens_with_code_or_with_an_empty_line_of_docs_is_reported() {
        let tree = Tree::of(&[
            ("a.rs", "//! What it is.\n"),
            ("b.rs", "use std::fmt;\n//! Too late.\n"),
            ("c.rs", "//!\n"),
            ("d.rs", ""),
            ("e.md", "no source"),
        ]);
        let findings: Vec<String> = check(&tree).iter().map(|finding| finding.to_string()[..4].to_owned()).collect();
        assert_eq!(findings, ["b.rs", "c.rs", "d.rs"]);
    }
}
