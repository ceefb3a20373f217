//! Recurring schedules: changes of them, and as answers show them.

use punctual_broker_api::{
    CatchUp, Error, MessageId, ScheduleName, SchedulePatch, SchedulePath, ScheduleRun, ScheduleSettings, ScheduleView,
    TopicName,
};

use super::{
    delay_from, delay_from_optional, delay_into, invalid_field, name, namespace_from, new_message_from,
    new_message_into,
    settings::{Resets, Written},
    time_from, time_from_optional, time_into, unreadable,
};
use crate::{status, v1};

/// A schedule of a namespace.
///
/// # Errors
/// `invalid_name`.
pub fn schedule_from(namespace: &str, schedule: &str) -> Result<SchedulePath, Error> {
    Ok(SchedulePath {
        namespace: namespace_from(namespace)?,
        schedule: name("schedule", schedule, ScheduleName::parse(schedule))?,
    })
}

fn catch_up_from(value: i32) -> Result<CatchUp, Error> {
    match v1::CatchUp::try_from(value) {
        Ok(v1::CatchUp::None) => Ok(CatchUp::None),
        Ok(v1::CatchUp::Last) => Ok(CatchUp::Last),
        Ok(v1::CatchUp::All) => Ok(CatchUp::All),
        Ok(v1::CatchUp::Unspecified) | Err(_) => {
            Err(invalid_field("catch_up", format!("cannot use {value} as catch_up")))
        }
    }
}

fn catch_up_into(value: CatchUp) -> i32 {
    let wire = match value {
        CatchUp::None => v1::CatchUp::None,
        CatchUp::Last => v1::CatchUp::Last,
        CatchUp::All => v1::CatchUp::All,
    };
    wire.into()
}

fn topic_from(text: &str) -> Result<TopicName, Error> {
    name("topic", text, TopicName::parse(text))
}

/// A change of a schedule.
///
/// # Errors
/// `exclusive_fields`, `unknown_field`, `invalid_duration`, `invalid_time`, `invalid_name`,
/// `invalid_field`.
pub fn schedule_patch_from(settings: Option<v1::ScheduleSettings>, reset: Vec<String>) -> Result<SchedulePatch, Error> {
    let settings = settings.unwrap_or_default();
    let mut resets = Resets::new(reset);
    let message = settings.message.map(new_message_from).transpose().map_err(|error| match error.field.clone() {
        Some(field) => error.with_field(format!("message.{field}")),
        None => error.with_field("message"),
    })?;
    let patch = SchedulePatch {
        topic: resets.patch("topic", settings.topic.as_deref().map(topic_from).transpose()?)?,
        message: resets.patch("message", message)?,
        cron: resets.patch("cron", settings.cron)?,
        timezone: resets.patch("timezone", settings.timezone)?,
        every: resets.duration("every", settings.every_ms)?,
        start: resets.patch("start", time_from_optional("start", settings.start_unix_ms)?)?,
        end: resets.patch("end", time_from_optional("end", settings.end_unix_ms)?)?,
        max_runs: resets.patch("max_runs", settings.max_runs)?,
        jitter: resets.duration("jitter", settings.jitter_ms)?,
        catch_up: resets.patch("catch_up", settings.catch_up.map(catch_up_from).transpose()?)?,
        paused: resets.patch("paused", settings.paused)?,
    };
    resets.finish()?;
    Ok(patch)
}

/// A change of a schedule for the wire.
#[must_use]
pub fn schedule_patch_into(patch: SchedulePatch) -> (v1::ScheduleSettings, Vec<String>) {
    let mut written = Written::default();
    let settings = v1::ScheduleSettings {
        topic: written.set("topic", patch.topic).map(|topic| topic.as_str().to_owned()),
        message: written.set("message", patch.message).map(new_message_into),
        cron: written.set("cron", patch.cron),
        timezone: written.set("timezone", patch.timezone),
        every_ms: written.set("every_ms", patch.every).map(delay_into),
        start_unix_ms: written.set("start", patch.start).map(time_into),
        end_unix_ms: written.set("end", patch.end).map(time_into),
        max_runs: written.set("max_runs", patch.max_runs),
        jitter_ms: written.set("jitter_ms", patch.jitter).map(delay_into),
        catch_up: written.set("catch_up", patch.catch_up).map(catch_up_into),
        paused: written.set("paused", patch.paused),
    };
    (settings, written.into_names())
}

/// A schedule for the wire.
#[must_use]
pub fn schedule_view_into(view: ScheduleView) -> v1::Schedule {
    let settings = view.settings;
    v1::Schedule {
        name: view.name,
        settings: Some(v1::ScheduleSettings {
            topic: Some(settings.topic.as_str().to_owned()),
            message: Some(new_message_into(settings.message)),
            cron: settings.cron,
            timezone: settings.timezone,
            every_ms: settings.every.map(delay_into),
            start_unix_ms: settings.start.map(time_into),
            end_unix_ms: settings.end.map(time_into),
            max_runs: settings.max_runs,
            jitter_ms: Some(delay_into(settings.jitter)),
            catch_up: Some(catch_up_into(settings.catch_up)),
            paused: Some(settings.paused),
        }),
        runs: view.runs,
        next_unix_ms: view.next.into_iter().map(time_into).collect(),
        last: view.last.map(|last| v1::ScheduleRun {
            nominal_time_unix_ms: time_into(last.nominal_time),
            published_at_unix_ms: last.published_at.map(time_into),
            id: last.id.map(|id| id.as_str().to_owned()),
            error: last.error.map(status::to_proto),
        }),
    }
}

/// A schedule.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn schedule_view_from(view: v1::Schedule) -> Result<ScheduleView, Error> {
    let absent = |what: &str| unreadable(&format!("no {what}"));
    let settings = view.settings.ok_or_else(|| absent("settings"))?;
    let last = view.last.map(|last| {
        Ok::<_, Error>(ScheduleRun {
            nominal_time: time_from("nominal_time", last.nominal_time_unix_ms)?,
            published_at: time_from_optional("published_at", last.published_at_unix_ms)?,
            id: last.id.as_deref().map(MessageId::new),
            error: last.error.map(status::from_proto),
        })
    });
    Ok(ScheduleView {
        name: view.name,
        settings: ScheduleSettings {
            topic: topic_from(&settings.topic.ok_or_else(|| absent("topic"))?)?,
            message: new_message_from(settings.message.ok_or_else(|| absent("message"))?)?,
            cron: settings.cron,
            timezone: settings.timezone,
            every: delay_from_optional("every", settings.every_ms)?,
            start: time_from_optional("start", settings.start_unix_ms)?,
            end: time_from_optional("end", settings.end_unix_ms)?,
            max_runs: settings.max_runs,
            jitter: delay_from("jitter", settings.jitter_ms.ok_or_else(|| absent("jitter"))?)?,
            catch_up: catch_up_from(settings.catch_up.ok_or_else(|| absent("catch_up"))?)?,
            paused: settings.paused.ok_or_else(|| absent("paused"))?,
        },
        runs: view.runs,
        next: view.next_unix_ms.into_iter().map(|ms| time_from("next", ms)).collect::<Result<_, _>>()?,
        last: last.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use punctual_broker_api::{Code, DelayMs, NewMessage, Patch, Time};

    use super::*;

    fn wired<T: prost::Message + Default>(message: &T) -> T {
        T::decode(message.encode_to_vec().as_slice()).expect("decodes")
    }

    fn message() -> NewMessage {
        NewMessage { body: vec![0, 255].into(), tag: Some("t".to_owned()), ..NewMessage::default() }
    }

    #[test]
    fn a_schedule_is_read_as_it_was_written() {
        let refused = Error::new(Code::TopicNotFound, "no topic").with_field("topic");
        let time = |ms| Time::from_unix_ms(ms).expect("a time");
        let run = ScheduleRun { nominal_time: time(1), published_at: None, id: None, error: Some(refused) };
        let done =
            ScheduleRun { published_at: Some(time(2)), id: Some(MessageId::new("i")), error: None, ..run.clone() };
        let settings = ScheduleSettings {
            topic: TopicName::parse("reports").expect("a name"),
            message: message(),
            cron: Some("0 9 * * *".to_owned()),
            timezone: Some("UTC".to_owned()),
            every: None,
            start: None,
            end: Some(Time::MAX),
            max_runs: Some(u64::MAX),
            jitter: DelayMs::ZERO,
            catch_up: CatchUp::None,
            paused: false,
        };
        let other = ScheduleSettings {
            cron: None,
            timezone: None,
            every: Some(DelayMs::from_secs(5)),
            start: Some(Time::ZERO),
            end: None,
            max_runs: None,
            jitter: DelayMs::from_ms(7),
            catch_up: CatchUp::All,
            paused: true,
            ..settings.clone()
        };
        for (settings, last) in [(settings, Some(run)), (other.clone(), Some(done)), (other, None)] {
            let view = ScheduleView { name: "n".to_owned(), settings, runs: 3, next: vec![time(3), time(4)], last };
            assert_eq!(schedule_view_from(wired(&schedule_view_into(view.clone()))), Ok(view));
        }
    }

    #[test]
    fn a_change_of_a_schedule_is_read_as_it_was_written() {
        let set = SchedulePatch {
            topic: Patch::Set(TopicName::parse("reports").expect("a name")),
            message: Patch::Set(message()),
            every: Patch::Set(DelayMs::from_secs(5)),
            start: Patch::Set(Time::ZERO),
            jitter: Patch::Set(DelayMs::ZERO),
            catch_up: Patch::Set(CatchUp::Last),
            paused: Patch::Set(false),
            ..SchedulePatch::default()
        };
        let reset = SchedulePatch {
            cron: Patch::Reset,
            timezone: Patch::Reset,
            every: Patch::Reset,
            start: Patch::Reset,
            end: Patch::Reset,
            max_runs: Patch::Reset,
            ..SchedulePatch::default()
        };
        for patch in [set, reset, SchedulePatch::default()] {
            let (settings, names) = schedule_patch_into(patch.clone());
            assert_eq!(schedule_patch_from(Some(wired(&settings)), names), Ok(patch));
        }
    }

    #[test]
    fn what_may_not_be_sent_is_refused_by_its_field() {
        let check = |settings: v1::ScheduleSettings, code, field: &str| {
            let error = schedule_patch_from(Some(settings), Vec::new()).expect_err(field);
            assert_eq!((error.code, error.field.as_deref()), (code, Some(field)));
        };
        let empty = v1::ScheduleSettings::default;
        check(v1::ScheduleSettings { topic: Some("a b".to_owned()), ..empty() }, Code::InvalidName, "topic");
        check(v1::ScheduleSettings { every_ms: Some(-1), ..empty() }, Code::InvalidDuration, "every");
        check(v1::ScheduleSettings { end_unix_ms: Some(-1), ..empty() }, Code::InvalidTime, "end");
        check(v1::ScheduleSettings { catch_up: Some(0), ..empty() }, Code::InvalidField, "catch_up");
        let message = v1::NewMessage { expires_after_ms: Some(-1), ..v1::NewMessage::default() };
        let settings = v1::ScheduleSettings { message: Some(message), ..empty() };
        check(settings, Code::InvalidDuration, "message.expires_after");
        assert_eq!(schedule_from("", "a b").map_err(|error| error.field), Err(Some("schedule".to_owned())));
    }
}
