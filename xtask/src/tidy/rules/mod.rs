//! The rules, one file each.

mod absences;
mod decisions;
mod edges;
mod error_pages;
mod lengths;
mod licences;
mod lifted_lints;
mod limits;
mod links;
mod module_docs;
mod outsiders;
mod persisted_enums;
mod policy;
mod traces;
mod versions;

use super::dependencies::Dependencies;
use super::finding::Finding;
use super::ratchet;
use super::tree::Tree;

/// Runs every rule.
pub(super) fn all(tree: &Tree, dependencies: &Dependencies) -> Vec<Finding> {
    let policy = policy::Policy::of(tree.file("deny.toml").unwrap_or(""));
    [
        absences::check(tree),
        absences::homes(tree),
        decisions::check(tree),
        edges::check(dependencies),
        error_pages::check(tree),
        lengths::files(tree, ratchet::LONG_FILES),
        lengths::functions(tree, ratchet::LONG_FUNCTIONS),
        licences::check(dependencies, &policy),
        lifted_lints::check(tree),
        limits::check(tree, ratchet::LIMITS_WITHOUT_A_TEST),
        links::check(tree),
        module_docs::check(tree),
        outsiders::check(dependencies),
        persisted_enums::check(tree),
        traces::check(tree),
        versions::check(dependencies, &policy),
    ]
    .concat()
}
