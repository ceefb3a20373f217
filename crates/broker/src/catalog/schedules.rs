//! The recurring schedules in memory.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use punctual_broker_api::{
    Code, Error, NamespaceName, ScheduleName, SchedulePath, ScheduleRun, ScheduleSettings, ScheduleView,
};
use punctual_types::{Time, limits};

use super::schedule_entry::{ProgressEntry, ScheduleEntry, ScheduleState, keep_progress, keep_schedule};
use crate::schedule::{CronFault, CronTimes, Plan, Rhythm, Timing, seed};

/// A recurring schedule. Immutable: a change makes a new one.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) path: SchedulePath,
    pub(crate) entry: ScheduleEntry,
    pub(crate) state: ProgressEntry,
    pub(crate) plan: Plan,
    /// When there is something to do about it; `None` when it has ended or is paused.
    pub(crate) due: Option<Time>,
}

impl Schedule {
    /// A schedule whose settings were checked as far as they stand alone.
    ///
    /// # Errors
    /// When its expression or time zone is refused.
    pub(crate) fn new(path: SchedulePath, entry: ScheduleEntry, state: ProgressEntry) -> Result<Self, CronFault> {
        let plan = plan_of(&path, &entry)?;
        Ok(Self { path, entry, state, plan, due: None }.timed())
    }

    /// The same, so far on.
    pub(crate) fn at(&self, state: ProgressEntry) -> Self {
        Self { state, ..self.clone() }.timed()
    }

    fn timed(self) -> Self {
        let due = if self.entry.settings.paused { None } else { self.plan.next_due(self.state.progress) };
        Self { due, ..self }
    }

    /// As whoever asks sees it.
    pub(crate) fn view(&self, now: Time) -> ScheduleView {
        let mut progress = self.state.progress;
        if self.entry.settings.paused {
            // What passes while it is paused is not made up for.
            progress.done_to = progress.done_to.max(now);
        }
        ScheduleView {
            name: self.path.schedule.to_string(),
            settings: self.entry.settings.clone(),
            runs: progress.runs,
            next: self.plan.upcoming(progress, limits::SCHEDULE_NEXT_SHOWN),
            last: self.state.last.clone(),
        }
    }

    /// The piece that keeps its settings.
    pub(crate) fn kept(&self) -> (Bytes, Option<Bytes>) {
        keep_schedule(&self.path, &self.entry)
    }

    /// The piece that keeps how far it has come.
    pub(crate) fn kept_state(&self) -> (Bytes, Option<Bytes>) {
        keep_progress(&self.path, &self.state)
    }

    pub(crate) fn settings(&self) -> &ScheduleSettings {
        &self.entry.settings
    }

    /// How far it is after so many more runs, up to a nominal time, of which this was the last.
    pub(crate) fn after(&self, runs: u64, done_to: Time, last: Option<ScheduleRun>) -> Self {
        let mut state = self.state.clone();
        state.progress.runs += runs;
        state.progress.done_to = state.progress.done_to.max(done_to);
        if last.is_some() {
            state.last = last;
        }
        self.at(state)
    }
}

fn plan_of(path: &SchedulePath, entry: &ScheduleEntry) -> Result<Plan, CronFault> {
    let settings = &entry.settings;
    let rhythm = match (&settings.cron, settings.every) {
        (Some(cron), _) => {
            let zone = settings.timezone.as_deref().unwrap_or(DEFAULT_TIMEZONE);
            Rhythm::Cron(Box::new(CronTimes::parse(cron, zone)?))
        }
        (None, every) => {
            let period = every.unwrap_or(limits::SCHEDULE_EVERY_MIN).max(limits::SCHEDULE_EVERY_MIN);
            Rhythm::Every { period, from: settings.start.unwrap_or(entry.timed_at) }
        }
    };
    Ok(plan_with(path, entry, rhythm))
}

fn plan_with(path: &SchedulePath, entry: &ScheduleEntry, rhythm: Rhythm) -> Plan {
    let settings = &entry.settings;
    let timing = Timing {
        rhythm,
        start: settings.start,
        end: settings.end,
        jitter: settings.jitter,
        seed: seed(path.namespace.as_str(), path.schedule.as_str()),
    };
    Plan { timing, catch_up: settings.catch_up, max_runs: settings.max_runs }
}

/// The time zone of an expression that names none.
pub(crate) const DEFAULT_TIMEZONE: &str = "UTC";

/// Every schedule, by namespace and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedules {
    all: BTreeMap<NamespaceName, BTreeMap<ScheduleName, Arc<Schedule>>>,
}

impl Schedules {
    /// Takes what was stored. One whose time zone the database of this program does not have any
    /// more must not keep the broker from opening: it never comes, until it is changed.
    pub(super) fn load(states: Vec<ScheduleState>) -> Self {
        let mut entries = BTreeMap::new();
        let mut schedules = Self::default();
        // The families come in their order: every schedule is there before its progress.
        for state in states {
            match state {
                ScheduleState::Schedule(path, entry) => {
                    entries.insert(path, (*entry, ProgressEntry::default()));
                }
                ScheduleState::Progress(path, progress) => {
                    if let Some((_, kept)) = entries.get_mut(&path) {
                        *kept = progress;
                    }
                }
            }
        }
        for (path, (entry, state)) in entries {
            let plan = plan_of(&path, &entry).unwrap_or_else(|fault| {
                let (namespace, schedule) = (&path.namespace, &path.schedule);
                tracing::error!(%namespace, %schedule, %fault, "a recurring schedule cannot be read and does not run");
                plan_with(&path, &entry, Rhythm::Never)
            });
            schedules.put(Schedule { path, entry, state, plan, due: None }.timed());
        }
        schedules
    }

    pub(crate) fn get(&self, path: &SchedulePath) -> Option<&Arc<Schedule>> {
        self.all.get(&path.namespace)?.get(&path.schedule)
    }

    /// The schedule of that name.
    ///
    /// # Errors
    /// `schedule_not_found`.
    pub(crate) fn find(&self, path: &SchedulePath) -> Result<Arc<Schedule>, Error> {
        self.get(path).cloned().ok_or_else(|| {
            let text = format!("there is no schedule `{}` in namespace `{}`", path.schedule, path.namespace);
            Error::new(Code::ScheduleNotFound, text).with_field("schedule")
        })
    }

    pub(crate) fn put(&mut self, schedule: Schedule) {
        let SchedulePath { namespace, schedule: name } = schedule.path.clone();
        self.all.entry(namespace).or_default().insert(name, Arc::new(schedule));
    }

    pub(crate) fn remove(&mut self, path: &SchedulePath) {
        if let Some(home) = self.all.get_mut(&path.namespace) {
            home.remove(&path.schedule);
        }
    }

    /// Those of a namespace, by name.
    pub(crate) fn of(&self, namespace: &NamespaceName) -> impl Iterator<Item = &Arc<Schedule>> {
        self.all.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// When there is something to do first.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.iter().filter_map(|schedule| schedule.due).min()
    }

    /// The schedules that have something to do by then, the longest due first.
    pub(crate) fn due(&self, now: Time, most: usize) -> Vec<Arc<Schedule>> {
        let mut due: Vec<_> = self.iter().filter(|schedule| schedule.due.is_some_and(|due| due <= now)).collect();
        due.sort_by_key(|schedule| schedule.due);
        due.into_iter().take(most).cloned().collect()
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Schedule>> {
        self.all.values().flat_map(BTreeMap::values)
    }
}
