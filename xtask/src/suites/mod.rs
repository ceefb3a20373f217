//! Every test of the workspace, suite by suite, each against its budget of time.
//!
//! A suite is one test program: the tests inside a crate (`core`), those of one file beside it (`core/scenarios`), or all
//! examples in documentation (`docs`). Everything is compiled once, for the whole workspace, and the programs are run one
//! after another: asking cargo for one package at a time would compile shared crates again with other features.

mod budget;
mod compile;
mod output;
mod suite;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::step;
use crate::stopwatch::Stopwatch;
use suite::{Suite, Verdict};
use table::Row;

/// Compiles the tests, runs those whose suite has one of the names (all of them without names), and prints the table.
///
/// The stopwatch runs since the checks were begun, which are the table's first row.
pub(crate) fn run(root: &Path, names: &[String], stopwatch: &Stopwatch) -> Result<(), String> {
    let checked = stopwatch.elapsed();
    let is_asked = |suite: &Suite| names.is_empty() || names.iter().any(|name| suite.name.contains(name.as_str()));
    step::say("compile all tests");
    let mut suites = compile::tests(root)?;
    suites.push(documentation(root));
    suites.retain(is_asked);
    let compiled = stopwatch.elapsed() - checked;
    let mut rows =
        vec![Row::step("(checks)", checked, budget::CHECKS), Row::step("(compile)", compiled, budget::COMPILE)];

    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let logs = target.join("suites");
    std::fs::create_dir_all(&logs).map_err(|error| format!("cannot make {}: {error}", logs.display()))?;
    for suite in &suites {
        step::say(&suite.name);
        let log = logs.join(format!("{}.log", suite.name.replace('/', "-")));
        let row = Row::of(suite, suite.run(&log)?);
        if row.verdict != Verdict::Passed {
            eprintln!("{}\n{}: {}", output::read(&log), suite.name, row.verdict.words());
        }
        rows.push(row);
    }
    rows.retain(|row| !row.is_empty());
    let total = stopwatch.elapsed();
    print(&table::render(&rows, total));
    judge(&rows, total, names)
}

#[allow(clippy::print_stdout, reason = "the table is what the command is for")]
fn print(table: &str) {
    println!("{table}");
}

/// The examples in documentation, which only cargo can compile and run.
fn documentation(root: &Path) -> Suite {
    let mut command = Command::new("cargo");
    command.args(["test", "--workspace", "--doc", "--no-fail-fast"]).current_dir(root);
    Suite { name: "docs".to_owned(), command }
}

fn judge(rows: &[Row], total: Duration, names: &[String]) -> Result<(), String> {
    let bad: Vec<&str> =
        rows.iter().filter(|row| row.verdict != Verdict::Passed).map(|row| row.name.as_str()).collect();
    if !bad.is_empty() {
        return Err(format!("{} of {} rows failed: {}", bad.len(), rows.len(), bad.join(", ")));
    }
    if rows.iter().map(|row| row.passed).sum::<usize>() == 0 {
        return Err(format!("no test ran{}", if names.is_empty() { "" } else { ": no suite has such a name" }));
    }
    if total > budget::WHOLE {
        return Err(format!("all of it took {} s and may take {} s", total.as_secs(), budget::WHOLE.as_secs()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: Verdict, passed: usize) -> Row {
        Row { name: "x".to_owned(), verdict, passed, ignored: 0, took: Duration::ZERO, budget: Duration::ZERO }
    }

    #[test]
    fn a_failed_row_no_tests_at_all_and_too_long_a_run_fail_the_whole() {
        assert!(judge(&[row(Verdict::Passed, 1)], Duration::ZERO, &[]).is_ok());
        assert!(judge(&[row(Verdict::Passed, 1), row(Verdict::OverBudget, 1)], Duration::ZERO, &[]).is_err());
        assert!(judge(&[row(Verdict::Passed, 0)], Duration::ZERO, &[]).is_err());
        assert!(judge(&[row(Verdict::Passed, 1)], budget::WHOLE + Duration::from_secs(1), &[]).is_err());
    }
}
