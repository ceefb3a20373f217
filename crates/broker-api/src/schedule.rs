//! Recurring schedules: messages that are published again and again, by a cron expression or every
//! so often.

use punctual_types::{DelayMs, NamespaceName, ScheduleName, Time, TopicName};

use crate::{Error, MessageId, NewMessage, Patch};

/// A recurring schedule of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchedulePath {
    /// The namespace: the tenant.
    pub namespace: NamespaceName,
    /// The schedule.
    pub schedule: ScheduleName,
}

/// What becomes of the runs that came due while the broker was down. A run that is less than a
/// minute late was not missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// They are passed over.
    #[default]
    None,
    /// The latest of them is made up for.
    Last,
    /// Each of them is made up for, in order; of more than 1000 the latest 1000.
    All,
}

impl CatchUp {
    /// The word for it on every door.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Last => "last",
            Self::All => "all",
        }
    }
}

/// Settings of a recurring schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleSettings {
    /// The topic to publish to, in the schedule's namespace.
    pub topic: TopicName,
    /// What each run publishes: no time, no dedup id, and none of the two headers that a run gets,
    /// `punctual-schedule` (the name) and `punctual-nominal-time` (RFC 3339 with milliseconds).
    pub message: NewMessage,
    /// Five fields (minute, hour, day of the month, month, day of the week) or six (a second before
    /// them). A schedule has this or `every`.
    pub cron: Option<String>,
    /// The time zone of `cron`, by its IANA name; `None` with `every`, `UTC` by default.
    pub timezone: Option<String>,
    /// The time from run to run, at least 1 s; counted from `start`, or from when the schedule was
    /// made or its timing last changed.
    pub every: Option<DelayMs>,
    /// No run is nominally before this time.
    pub start: Option<Time>,
    /// Runs are nominally before this time.
    pub end: Option<Time>,
    /// The schedule ends after so many runs, those that were triggered included; at least 1.
    pub max_runs: Option<u64>,
    /// How much later than its nominal time a run may be due, at most 24 h and never as late as the
    /// next nominal time; how much of it, follows from the name and the nominal time.
    pub jitter: DelayMs,
    /// What becomes of runs that were missed.
    pub catch_up: CatchUp,
    /// Whether it waits. What would have run meanwhile is never made up for.
    pub paused: bool,
}

/// A change of a recurring schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulePatch {
    /// See [`ScheduleSettings::topic`]; a new schedule needs one, and it cannot be reset.
    pub topic: Patch<TopicName>,
    /// See [`ScheduleSettings::message`]; set, it replaces the whole message; empty by default.
    pub message: Patch<NewMessage>,
    /// See [`ScheduleSettings::cron`]; set, it takes the place of `every`.
    pub cron: Patch<String>,
    /// See [`ScheduleSettings::timezone`].
    pub timezone: Patch<String>,
    /// See [`ScheduleSettings::every`]; set, it takes the place of `cron` and its `timezone`.
    pub every: Patch<DelayMs>,
    /// See [`ScheduleSettings::start`].
    pub start: Patch<Time>,
    /// See [`ScheduleSettings::end`].
    pub end: Patch<Time>,
    /// See [`ScheduleSettings::max_runs`].
    pub max_runs: Patch<u64>,
    /// See [`ScheduleSettings::jitter`].
    pub jitter: Patch<DelayMs>,
    /// See [`ScheduleSettings::catch_up`].
    pub catch_up: Patch<CatchUp>,
    /// See [`ScheduleSettings::paused`].
    pub paused: Patch<bool>,
}

/// The last run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRun {
    /// The time that it was for.
    pub nominal_time: Time,
    /// When it was published; `None` when it was refused.
    pub published_at: Option<Time>,
    /// The message, when it is known.
    pub id: Option<MessageId>,
    /// Why it was refused.
    pub error: Option<Error>,
}

/// A recurring schedule as somebody who asks for it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleView {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: ScheduleSettings,
    /// Runs so far: published ones, those that were triggered included.
    pub runs: u64,
    /// The next five nominal times; fewer when it ends before. For a paused schedule, what they
    /// would be if it were resumed now.
    pub next: Vec<Time>,
    /// The last run, if there was one.
    pub last: Option<ScheduleRun>,
}
