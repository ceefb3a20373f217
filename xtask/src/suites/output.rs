//! What a suite printed.

use std::path::Path;

/// Tests that passed and that were left out, from the summary lines of the test harness.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) ignored: usize,
}

impl Counts {
    /// Adds up `test result: ok. 3 passed; 0 failed; 1 ignored; …`, of which documentation prints one a crate.
    pub(super) fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines().filter(|line| line.starts_with("test result:")) {
            counts.passed += number_before(line, " passed");
            counts.ignored += number_before(line, " ignored");
        }
        counts
    }
}

/// The log of a suite; what cannot be read is said in its place.
pub(super) fn read(log: &Path) -> String {
    match std::fs::read(log) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("cannot read {}: {error}", log.display()),
    }
}

fn number_before(line: &str, word: &str) -> usize {
    let before = line.split(word).next().unwrap_or("");
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_added_up() {
        let text = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n\
                    test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured\nthread panicked";
        assert_eq!(Counts::of(text), Counts { passed: 15, ignored: 1 });
    }
}
