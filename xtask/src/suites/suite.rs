//! One suite: a program that tests, and what became of it.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::budget;
use super::output::{self, Counts};
use crate::stopwatch::Stopwatch;

/// A program that runs tests and says with its exit code whether they passed.
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) command: Command,
}

/// What became of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    OverBudget,
    /// Was ended: it took several times its budget.
    Hung,
}

/// A suite's verdict with its figures.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) counts: Counts,
    pub(super) took: Duration,
}

impl Verdict {
    /// Of a suite that ended well or not, or (`None`) had to be ended.
    fn of(ended_well: Option<bool>, took: Duration, budget: Duration) -> Self {
        match ended_well {
            None => Self::Hung,
            Some(false) => Self::Failed,
            Some(true) if took > budget => Self::OverBudget,
            Some(true) => Self::Passed,
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::OverBudget => "OVER BUDGET",
            Self::Hung => "HUNG",
        }
    }
}

impl Suite {
    /// How long it may take.
    pub(super) fn budget(&self) -> Duration {
        budget::of(&self.name)
    }

    /// Runs it, with everything that it prints going to the log.
    pub(super) fn run(&self, log: &Path) -> Result<Outcome, String> {
        self.run_within(self.budget(), log)
    }

    fn run_within(&self, budget: Duration, log: &Path) -> Result<Outcome, String> {
        let failed = |error: std::io::Error| format!("cannot run suite {}: {error}", self.name);
        let out = File::create(log).map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
        let stopwatch = Stopwatch::start();
        let mut child = copy(&self.command).stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(failed)?;
        let status = wait(&mut child, &stopwatch, budget * budget::PATIENCE).map_err(failed)?;
        let took = stopwatch.elapsed();
        let verdict = Verdict::of(status.map(|status| status.success()), took, budget);
        Ok(Outcome { verdict, counts: Counts::of(&output::read(log)), took })
    }
}

/// A command cannot be cloned; what a suite sets of it can.
fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    copy.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    if let Some(folder) = command.get_current_dir() {
        copy.current_dir(folder);
    }
    copy
}

/// Waits for the end, and makes one when the patience is over.
fn wait(child: &mut Child, stopwatch: &Stopwatch, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    const ASK_EVERY: Duration = Duration::from_millis(20);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stopwatch.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::park_timeout(ASK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(script: &str, budget: Duration) -> (Verdict, Counts) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let suite = Suite { name: "x".to_owned(), command };
        let outcome = suite.run_within(budget, &folder.path().join("log")).expect("run");
        (outcome.verdict, outcome.counts)
    }

    #[test]
    fn a_suite_passes_by_its_exit_code_and_is_counted_by_its_summary() {
        let summary = "echo 'test result: ok. 2 passed; 0 failed; 1 ignored'";
        let minute = Duration::from_secs(60);
        assert_eq!(verdict(summary, minute), (Verdict::Passed, Counts { passed: 2, ignored: 1 }));
        assert_eq!(verdict(&format!("{summary}; exit 1"), minute).0, Verdict::Failed);
    }

    #[test]
    fn a_suite_over_its_budget_is_told_from_one_that_had_to_be_ended() {
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        assert_eq!(Verdict::of(Some(true), short, long), Verdict::Passed);
        assert_eq!(Verdict::of(Some(true), long, short), Verdict::OverBudget);
        assert_eq!(verdict("exec tail -f /dev/null", Duration::from_millis(20)).0, Verdict::Hung);
    }
}
