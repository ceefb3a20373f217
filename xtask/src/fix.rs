//! What may be mended without asking.

use std::path::Path;

use crate::step;

/// Lets clippy mend what it can, then formats.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mend = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    step::cargo(root, &mend)?;
    step::cargo(root, &["fmt", "--all"])
}
