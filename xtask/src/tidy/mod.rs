//! The house rules that a machine can check, over every file of the repository.
//!
//! A rule is a function from the tree (and from what cargo says about the dependencies) to findings. It holds no state,
//! writes nothing, and has a test that plants a violation and sees it reported. What a rule allows by name stands in
//! tables with a reason each: in `rules/` where the rule is the table, in `ratchet.rs` where the table should shrink.

mod code;
mod dependencies;
mod finding;
mod ratchet;
mod rules;
mod tree;

use std::path::Path;

use dependencies::Dependencies;
use finding::Finding;
use tree::Tree;

/// Checks the repository at `root` and returns a line for every violation.
pub(crate) fn violations(root: &Path) -> Result<Vec<String>, String> {
    let tree = Tree::read(root)?;
    let dependencies = Dependencies::of_workspace(root)?;
    let mut findings: Vec<Finding> = rules::all(&tree, &dependencies);
    findings.sort();
    findings.dedup();
    Ok(findings.iter().map(Finding::to_string).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_keeps_its_own_rules() {
        let violations = super::violations(&crate::repository_root()).expect("the rules can be checked");
        assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
    }
}
