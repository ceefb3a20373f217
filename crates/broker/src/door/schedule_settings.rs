//! The settings of a recurring schedule after a change, checked.

use punctual_broker_api::{
    CatchUp, Code, DelayMs, Error, Limits, NewMessage, Patch, SchedulePatch, ScheduleSettings, When,
};
use punctual_types::limits;

use super::validate::{check_message, check_range, field_of};
use crate::{catalog::DEFAULT_TIMEZONE, schedule::CronFault};

/// The header that names the schedule of a run.
pub(super) const NAME_HEADER: &str = "punctual-schedule";
/// The header that holds the nominal time of a run.
pub(super) const NOMINAL_TIME_HEADER: &str = "punctual-nominal-time";

fn optional<T>(patch: Patch<T>, current: Option<T>) -> Option<T> {
    match patch {
        Patch::Keep => current,
        Patch::Reset => None,
        Patch::Set(value) => Some(value),
    }
}

/// The settings after a change; `current` is `None` for a schedule that is to be made.
pub(super) fn settings_of(current: Option<&ScheduleSettings>, patch: SchedulePatch) -> Result<ScheduleSettings, Error> {
    let (cron_set, every_set) = (matches!(patch.cron, Patch::Set(_)), matches!(patch.every, Patch::Set(_)));
    if cron_set && every_set {
        return Err(exclusive("every", "a schedule has `cron` or `every`, not both")
            .with_hint("leave one of the two out; the other takes its place"));
    }
    let timezone_set = matches!(patch.timezone, Patch::Set(_));
    // What is set takes the place of the other.
    let cron = optional(patch.cron, current.and_then(|it| it.cron.clone()).filter(|_| !every_set));
    let every = optional(patch.every, current.and_then(|it| it.every).filter(|_| !cron_set));
    let timezone = optional(patch.timezone, current.and_then(|it| it.timezone.clone()));
    if every.is_some() && timezone_set {
        return Err(exclusive("timezone", "a schedule with `every` has no time zone")
            .with_hint("leave `timezone` out: a period is the same everywhere"));
    }
    let timezone = cron.is_some().then(|| timezone.unwrap_or_else(|| DEFAULT_TIMEZONE.to_owned()));
    let topic = match (patch.topic, current) {
        (Patch::Set(topic), _) => topic,
        (Patch::Keep, Some(current)) => current.topic.clone(),
        (Patch::Keep | Patch::Reset, _) => return Err(missing("topic", "name the topic that its runs go to")),
    };
    let settings = ScheduleSettings {
        topic,
        message: patch.message.apply(current.map(|it| it.message.clone()).unwrap_or_default(), NewMessage::default()),
        cron,
        timezone,
        every,
        start: optional(patch.start, current.and_then(|it| it.start)),
        end: optional(patch.end, current.and_then(|it| it.end)),
        max_runs: optional(patch.max_runs, current.and_then(|it| it.max_runs)),
        jitter: patch.jitter.apply(current.map_or(DelayMs::ZERO, |it| it.jitter), DelayMs::ZERO),
        catch_up: patch.catch_up.apply(current.map(|it| it.catch_up).unwrap_or_default(), CatchUp::None),
        paused: patch.paused.apply(current.is_some_and(|it| it.paused), false),
    };
    check(&settings)?;
    Ok(settings)
}

fn exclusive(field: &str, text: &str) -> Error {
    Error::new(Code::ExclusiveFields, text).with_field(field)
}

fn missing(field: &str, hint: &str) -> Error {
    Error::new(Code::MalformedRequest, format!("cannot make a schedule without `{field}`"))
        .with_field(field)
        .with_hint(hint)
}

/// Checks what stands alone; an expression is checked when it is read.
fn check(settings: &ScheduleSettings) -> Result<(), Error> {
    if settings.cron.is_none() && settings.every.is_none() {
        return Err(missing("cron", "give `cron`, such as `0 9 * * MON-FRI`, or `every`, such as `15m`"));
    }
    if let Some(every) = settings.every {
        check_range("every", every, limits::SCHEDULE_EVERY_MIN, DelayMs::from_ms(u64::MAX))?;
    }
    if let Some(max_runs) = settings.max_runs {
        check_range("max_runs", max_runs, 1, u64::MAX)?;
    }
    check_range("jitter", settings.jitter, DelayMs::ZERO, limits::SCHEDULE_JITTER_MAX)?;
    if let (Some(start), Some(end)) = (settings.start, settings.end)
        && end <= start
    {
        return Err(Error::new(Code::InvalidField, "`end` is not after `start`: the schedule would never run")
            .with_field("end"));
    }
    Ok(())
}

/// Checks the message of a schedule as its runs will be: with the headers of the longest run.
pub(super) fn check_schedule_message(
    message: &NewMessage,
    run: &NewMessage,
    priorities: u16,
    limits: &Limits,
) -> Result<(), Error> {
    let refused = |field: &str, text: &str, hint: &str| {
        Err(Error::new(Code::InvalidField, text).with_field(format!("message.{field}")).with_hint(hint))
    };
    if message.when != When::Now {
        let hint = "leave it out: each run is due when its time has come";
        return refused(field_of(message.when), "the message of a schedule has no time of its own", hint);
    }
    if message.dedup_id.is_some() {
        let hint = "leave it out: each run is published once by itself";
        return refused("dedup_id", "with a dedup id every run would be a duplicate of the first", hint);
    }
    if message.prepare.is_some() {
        let hint = "leave it out: whoever wants to decide about a run can prepare a message when it comes";
        return refused("prepare", "a run is published and not prepared", hint);
    }
    let own = [NAME_HEADER, NOMINAL_TIME_HEADER];
    if let Some((name, _)) = message.headers.iter().find(|(name, _)| own.contains(&name.as_str())) {
        let text = format!("the header `{name}` is written by the schedule itself");
        return refused("headers", &text, "give the header another name");
    }
    check_message(run, priorities, limits).map_err(|error| match error.field.clone() {
        Some(field) => error.with_field(format!("message.{field}")),
        None => error,
    })
}

/// Why an expression or its time zone was refused, in words.
pub(super) fn fault_of(fault: &CronFault, settings: &ScheduleSettings) -> Error {
    let (code, field, value, hint) = match fault {
        CronFault::Zone => (
            Code::UnknownTimezone,
            "timezone",
            settings.timezone.as_deref(),
            "name it as the IANA database does, such as `Europe/Berlin`",
        ),
        CronFault::Length(_) | CronFault::Fields(_) | CronFault::Pattern(_) | CronFault::Never => (
            Code::InvalidCron,
            "cron",
            settings.cron.as_deref(),
            "write five fields (minute, hour, day of the month, month, day of the week) or six (a second before them)",
        ),
    };
    let value: String = value.unwrap_or_default().chars().take(limits::SCHEDULE_CRON_BYTES_MAX).collect();
    Error::new(code, format!("cannot take `{field}`: `{value}` {fault}")).with_field(field).with_hint(hint)
}
