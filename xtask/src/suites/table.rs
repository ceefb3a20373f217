//! The table at the end of a run.

use std::fmt::Write as _;
use std::time::Duration;

use super::budget;
use super::suite::{Outcome, Suite, Verdict};

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) verdict: Verdict,
    pub(super) passed: usize,
    pub(super) ignored: usize,
    pub(super) took: Duration,
    pub(super) budget: Duration,
}

impl Row {
    /// Of a suite that was run.
    pub(super) fn of(suite: &Suite, outcome: Outcome) -> Self {
        let Outcome { verdict, counts, took } = outcome;
        let (passed, ignored) = (counts.passed, counts.ignored);
        Self { name: suite.name.clone(), verdict, passed, ignored, took, budget: suite.budget() }
    }

    /// Of a step that runs no tests, which has a budget like any suite; its name stands in brackets.
    pub(super) fn step(name: &str, took: Duration, budget: Duration) -> Self {
        let verdict = if took > budget { Verdict::OverBudget } else { Verdict::Passed };
        Self { name: name.to_owned(), verdict, passed: 0, ignored: 0, took, budget }
    }

    /// Whether it is a crate without tests of this kind.
    pub(super) fn is_empty(&self) -> bool {
        let is_suite = !self.name.starts_with('(');
        is_suite && self.verdict == Verdict::Passed && self.passed == 0 && self.ignored == 0
    }
}

/// The rows, and their sum under them.
pub(super) fn render(rows: &[Row], total: Duration) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("suite".len());
    let mut text = format!("\n{:width$}  passed  ignored     took   budget\n", "suite");
    for row in rows {
        let Row { name, verdict, passed, ignored, took, budget } = row;
        let (took, budget) = (took.as_secs_f64(), budget.as_secs());
        let _ = write!(text, "{name:width$}  {passed:>6}  {ignored:>7}  {took:>6.1}s  {budget:>6}s");
        let _ = writeln!(text, "{}{}", if *verdict == Verdict::Passed { "" } else { "  " }, not_ok(*verdict));
    }
    let passed: usize = rows.iter().map(|row| row.passed).sum();
    let ignored: usize = rows.iter().map(|row| row.ignored).sum();
    let (total, budget) = (total.as_secs_f64(), budget::WHOLE.as_secs());
    let _ = write!(text, "{:width$}  {passed:>6}  {ignored:>7}  {total:>6.1}s  {budget:>6}s", "all");
    text
}

fn not_ok(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Passed { "" } else { verdict.words() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_each_suite_with_its_budget_and_what_went_wrong() {
        let row = |name: &str, verdict| Row {
            name: name.to_owned(),
            verdict,
            passed: 3,
            ignored: 1,
            took: Duration::from_millis(1250),
            budget: Duration::from_secs(60),
        };
        let text =
            render(&[row("core", Verdict::Passed), row("core/scenarios", Verdict::Hung)], Duration::from_secs(3));
        assert_eq!(
            text,
            "\nsuite           passed  ignored     took   budget\n\
             core                 3        1     1.2s      60s\n\
             core/scenarios       3        1     1.2s      60s  HUNG\n\
             all                  6        2     3.0s    2700s"
        );
    }

    #[test]
    fn only_a_suite_without_tests_is_left_out() {
        let (short, long) = (Duration::ZERO, Duration::from_secs(1));
        assert!(!Row::step("(compile)", short, long).is_empty());
        assert_eq!(Row::step("(compile)", long, short).verdict, Verdict::OverBudget);
        let empty = Row { name: "docs".to_owned(), ..Row::step("(compile)", short, long) };
        assert!(empty.is_empty());
        assert!(!Row { verdict: Verdict::Failed, ..empty }.is_empty());
    }
}
