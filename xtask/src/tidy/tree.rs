//! The files of the repository, read once: what is committed and what is about to be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::code::Code;

/// Files by their path from the root, with `/` between the names.
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    sources: BTreeMap<String, Code>,
    only_tests: BTreeSet<String>,
}

impl Tree {
    /// Reads the repository at `root`. What git ignores is left out, and what is not text.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => walked(root).map_err(|error| format!("cannot list {}: {error}", root.display()))?,
        };
        let mut files = BTreeMap::new();
        for path in paths {
            // A file that was deleted and not yet committed is still listed; one that is not text has no lines.
            if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
                files.insert(path, text);
            }
        }
        Ok(Self::of_files(files))
    }

    /// A tree of the given files, for the tests of the rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self::of_files(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    fn of_files(files: BTreeMap<String, String>) -> Self {
        let sources: BTreeMap<String, Code> = files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| (path.clone(), Code::of(text)))
            .collect();
        let only_tests = sources.iter().flat_map(|(path, code)| test_module_places(path, code)).collect();
        Self { files, sources, only_tests }
    }

    /// Every file with its text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every Rust source.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &Code)> {
        self.sources.iter().map(|(path, code)| (path.as_str(), code))
    }

    /// Files directly in a folder: their names and texts.
    pub(crate) fn folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.files().filter_map(move |(path, text)| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?;
            (!name.contains('/')).then_some((name, text))
        })
    }

    /// Whether the whole file is compiled for tests or benchmarks only, or for the crate's build.
    pub(crate) fn is_test_file(&self, path: &str) -> bool {
        let mut folders = path.split('/');
        let name = folders.next_back().unwrap_or(path);
        folders.any(|folder| matches!(folder, "tests" | "testing" | "benches"))
            || matches!(name, "build.rs" | "tests.rs")
            || name.ends_with("_tests.rs")
            || self.only_tests.iter().any(|place| {
                path.strip_prefix(place.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            })
    }
}

/// Where the modules live that a source declares for tests only: paths without `.rs`.
fn test_module_places(path: &str, code: &Code) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_root = ["mod", "lib", "main"].iter().any(|name| stem.ends_with(&format!("/{name}")));
    let children = if is_root { folder } else { stem };
    code.test_modules().iter().map(|name| format!("{children}/{name}")).collect()
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    Some(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walked(root: &Path) -> std::io::Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if kind.is_dir() && name != "target" && name != ".git" {
                folders.push(entry.path());
            } else if kind.is_file()
                && let Ok(path) = entry.path().strip_prefix(root)
            {
                paths.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_git_is_walked_and_its_target_left_out() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in [("a/b.rs", "//! B."), ("target/c.rs", "x"), ("d.md", "# D")] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let tree = Tree::read(root.path()).expect("read");
        assert_eq!(tree.files().collect::<Vec<_>>(), [("a/b.rs", "//! B."), ("d.md", "# D")]);
        assert_eq!(tree.sources().map(|(path, _)| path).collect::<Vec<_>>(), ["a/b.rs"]);
    }

    #[test]
    fn files_for_tests_are_known_by_their_folder_their_name_or_their_declaration() {
        let tree = Tree::of(&[
            ("crates/x/src/lib.rs", "#[cfg(test)] mod cases;"),
            ("crates/x/src/a.rs", "#[cfg(test)] mod deep;"),
        ]);
        for path in [
            "crates/x/tests/it.rs",
            "crates/x/src/testing/model.rs",
            "crates/x/build.rs",
            "crates/x/src/a_tests.rs",
            "crates/x/src/cases.rs",
            "crates/x/src/cases/one.rs",
            "crates/x/src/a/deep.rs",
        ] {
            assert!(tree.is_test_file(path), "{path}");
        }
        for path in ["crates/x/src/lib.rs", "crates/x/src/deep.rs", "crates/x/src/cases_real.rs"] {
            assert!(!tree.is_test_file(path), "{path}");
        }
    }
}
