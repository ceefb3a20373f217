//! What a schedule has to do now: which runs to publish, and which missed ones to pass over.

use punctual_broker_api::CatchUp;
use punctual_types::{DelayMs, Time, limits};

use super::timing::Timing;

/// How a schedule goes on.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) timing: Timing,
    pub(crate) catch_up: CatchUp,
    pub(crate) max_runs: Option<u64>,
}

/// How far a schedule has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Every nominal time up to this one is dealt with: it ran, or it was passed over.
    pub(crate) done_to: Time,
    /// Runs so far.
    pub(crate) runs: u64,
}

/// When it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Time,
    /// Since when the broker has been looking: what was due before was missed.
    pub(crate) looking_since: Time,
}

/// What to do next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// The nominal times to publish runs of, in order.
    pub(crate) runs: Vec<Time>,
    /// What is dealt with then.
    pub(crate) done_to: Time,
}

impl Plan {
    /// Runs that are left.
    fn left(&self, progress: Progress) -> usize {
        let left = self.max_runs.map_or(u64::MAX, |max| max.saturating_sub(progress.runs));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// The nominal times to come.
    pub(crate) fn upcoming(&self, progress: Progress, most: usize) -> Vec<Time> {
        self.timing.times_after(progress.done_to).take(most.min(self.left(progress))).collect()
    }

    /// When there is something to do next.
    pub(crate) fn next_due(&self, progress: Progress) -> Option<Time> {
        let next = (self.left(progress) > 0).then(|| self.timing.next_after(progress.done_to))??;
        Some(self.timing.due(next))
    }

    /// What there is to do now, at most so many runs; to be asked again until there is nothing.
    pub(crate) fn step(&self, progress: Progress, moment: Moment, most: usize) -> Option<Step> {
        let first_due = self.next_due(progress).filter(|due| *due <= moment.now)?;
        let mut step = if first_due <= moment.looking_since {
            self.catch_up(progress.done_to, moment.looking_since, most)?
        } else {
            let due = self.timing.times_after(progress.done_to).take_while(|time| self.timing.due(*time) <= moment.now);
            let runs: Vec<Time> = due.take(most).collect();
            let done_to = *runs.last()?;
            Step { runs, done_to }
        };
        step.runs.truncate(self.left(progress));
        Some(step)
    }

    /// What to do about the runs that were due while nobody looked.
    fn catch_up(&self, done_to: Time, looking_since: Time, most: usize) -> Option<Step> {
        let mut last = self.timing.last_between(done_to, looking_since)?;
        if self.timing.due(last) > looking_since {
            // Its jitter saved it. The one before was due before it was.
            last = self.timing.last_between(done_to, Time::from_unix_ms(last.unix_ms().checked_sub(1)?)?)?;
        }
        let none = Step { runs: Vec::new(), done_to: last };
        let only_last = Step { runs: vec![last], done_to: last };
        Some(match self.catch_up {
            // A restart that takes a moment must not cost a day's run.
            CatchUp::None if looking_since.since(self.timing.due(last)) < limits::SCHEDULE_LATENESS_MAX => only_last,
            CatchUp::None => none,
            CatchUp::Last => only_last,
            CatchUp::All => {
                let mut runs = self.timing.latest_between(done_to, last, limits::SCHEDULE_CATCH_UP_MAX);
                runs.truncate(most);
                let done_to = *runs.last()?;
                Step { runs, done_to }
            }
        })
    }
}

/// How long the broker may have looked away without calling what came due meanwhile missed.
pub(crate) const LOOKED_AWAY_MAX: DelayMs = limits::SCHEDULE_LATENESS_MAX;
