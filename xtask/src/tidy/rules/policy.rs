//! What `deny.toml` allows: licences, and versions of a crate beside its newest.
//!
//! Reads the few lines that the rules need, so that cargo-deny (which needs minutes to build) and `tidy` (which every
//! machine runs) follow one list. A list has one entry a line, as the file itself says.

/// The lists of `deny.toml`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Policy {
    /// Licences that a dependency may have.
    pub(super) licences: Vec<String>,
    /// Versions that may stand beside the newest: line, `name@version`, and why.
    pub(super) older_versions: Vec<(usize, String, String)>,
}

impl Policy {
    pub(super) fn of(text: &str) -> Self {
        let mut policy = Self::default();
        let (mut section, mut list) = (String::new(), String::new());
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.starts_with('#') {
                continue;
            }
            if line.starts_with('[') && list.is_empty() {
                section = line.trim_matches(['[', ']']).to_owned();
            } else if let Some(name) = line.strip_suffix("= [") {
                list = name.trim().to_owned();
            } else if line.starts_with(']') {
                list.clear();
            } else {
                match (section.as_str(), list.as_str()) {
                    ("licenses", "allow") => policy.licences.extend(quoted(line)),
                    ("bans", "skip") => {
                        let value = |key: &str| line.split_once(key).and_then(|(_, rest)| quoted(rest));
                        let crate_version = value("crate =").unwrap_or_default();
                        policy.older_versions.push((number, crate_version, value("reason =").unwrap_or_default()));
                    }
                    _ => {}
                }
            }
        }
        policy
    }
}

/// What stands between the first two quotes.
fn quoted(text: &str) -> Option<String> {
    text.split('"').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lists_are_read_and_other_lists_and_comments_are_not() {
        let text = "[licenses]\nallow = [\n    \"MIT\", # as most\n    # \"GPL-3.0\",\n]\n[bans]\nallow = [\n    \"x\",\n]\nskip = [\n    { crate = \"a@1.0.0\", reason = \"b needs it\" },\n]\n";
        let policy = Policy::of(text);
        assert_eq!(policy.licences, ["MIT"]);
        assert_eq!(policy.older_versions, [(11, "a@1.0.0".to_owned(), "b needs it".to_owned())]);
    }
}
