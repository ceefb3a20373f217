//! Recurring schedules as they are stored: what was set under family 20, how far it has come under
//! family 21, so that a run does not write the message anew.

use bytes::{BufMut, Bytes, BytesMut};
use punctual_broker_api::{
    CatchUp, Code, Error, MessageId, NewMessage, OnConflict, SchedulePath, ScheduleRun, ScheduleSettings,
};
use punctual_core::format::{
    FormatError,
    fields::{FieldReader, FieldWriter},
};
use punctual_types::{DelayMs, NamespaceName, ScheduleName, Time, TopicName};

use crate::schedule::Progress;

const VERSION: u8 = 1;
const WHAT: &str = "recurring schedule";

/// Families of keys. Never reused.
const SCHEDULE: u8 = 20;
const PROGRESS: u8 = 21;

/// What was set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduleEntry {
    pub(crate) settings: ScheduleSettings,
    /// When its timing was last set: a period without a start is counted from there.
    pub(crate) timed_at: Time,
}

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProgressEntry {
    pub(crate) progress: Progress,
    pub(crate) last: Option<ScheduleRun>,
}

/// Either.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScheduleState {
    Schedule(SchedulePath, Box<ScheduleEntry>),
    Progress(SchedulePath, ProgressEntry),
}

fn key(family: u8, path: &SchedulePath) -> Bytes {
    let (namespace, schedule) = (path.namespace.as_str().as_bytes(), path.schedule.as_str().as_bytes());
    let mut key = BytesMut::with_capacity(3 + namespace.len() + schedule.len());
    key.put_u8(family);
    // A name is at most 765 bytes long.
    key.put_u16(namespace.len() as u16);
    key.put_slice(namespace);
    key.put_slice(schedule);
    key.freeze()
}

/// The pieces of state that forget a schedule.
pub(crate) fn forget_schedule(path: &SchedulePath) -> [(Bytes, Option<Bytes>); 2] {
    [(key(SCHEDULE, path), None), (key(PROGRESS, path), None)]
}

/// The piece of state that keeps what was set.
pub(crate) fn keep_schedule(path: &SchedulePath, entry: &ScheduleEntry) -> (Bytes, Option<Bytes>) {
    let ScheduleEntry { settings, timed_at } = entry;
    let message = &settings.message;
    let mut out = FieldWriter::new(VERSION, 256 + message.body.len());
    out.text(1, Some(settings.topic.as_str())).text(2, settings.cron.as_deref()).text(3, settings.timezone.as_deref());
    let numbers = [
        (4, settings.every.map(DelayMs::ms)),
        (5, settings.start.map(Time::unix_ms)),
        (6, settings.end.map(Time::unix_ms)),
        (7, settings.max_runs),
        (18, message.expires_after.map(DelayMs::ms)),
    ];
    for (tag, number) in numbers {
        if let Some(number) = number {
            out.bytes(tag, &number.to_be_bytes());
        }
    }
    let catch_up = match settings.catch_up {
        CatchUp::None => 1,
        CatchUp::Last => 2,
        CatchUp::All => 3,
    };
    out.number(8, settings.jitter.ms()).number(9, catch_up).number(10, settings.paused.into());
    out.number(11, timed_at.unix_ms()).text(12, message.key.as_deref());
    let on_conflict = match message.on_conflict {
        OnConflict::Reject => 1,
        OnConflict::Replace => 2,
        OnConflict::Keep => 3,
    };
    out.number(13, on_conflict).text(14, message.ordering_key.as_deref()).text(15, message.tag.as_deref());
    if !message.headers.is_empty() {
        out.bytes(16, &headers_into(&message.headers));
    }
    out.number(17, message.priority.into()).bytes(19, &message.body);
    (key(SCHEDULE, path), Some(out.finish()))
}

/// The piece of state that keeps how far it has come.
pub(crate) fn keep_progress(path: &SchedulePath, entry: &ProgressEntry) -> (Bytes, Option<Bytes>) {
    let ProgressEntry { progress, last } = entry;
    let mut out = FieldWriter::new(VERSION, 128);
    out.number(1, progress.done_to.unix_ms()).number(2, progress.runs);
    if let Some(last) = last {
        out.bytes(3, &last.nominal_time.unix_ms().to_be_bytes());
        if let Some(published_at) = last.published_at {
            out.bytes(4, &published_at.unix_ms().to_be_bytes());
        }
        out.text(5, last.id.as_ref().map(MessageId::as_str));
        if let Some(error) = &last.error {
            out.text(6, Some(error.code.slug())).text(7, Some(&error.message)).text(8, error.field.as_deref());
        }
    }
    (key(PROGRESS, path), Some(out.finish()))
}

fn headers_into(headers: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        // Headers are at most some kilobytes.
        out.put_u32(text.len() as u32);
        out.put_slice(text.as_bytes());
    }
    out
}

fn headers_from(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        texts.push(std::str::from_utf8(text).ok()?.to_owned());
        bytes = rest;
    }
    let mut headers = Vec::with_capacity(texts.len() / 2);
    let mut texts = texts.into_iter();
    while let Some(name) = texts.next() {
        headers.push((name, texts.next()?));
    }
    Some(headers)
}

fn error(detail: impl Into<String>) -> FormatError {
    FormatError { what: WHAT, detail: detail.into() }
}

/// Reads what was kept; `None` when the key is not one of a schedule.
///
/// # Errors
/// When it is damaged or of a later version.
pub(crate) fn decode_schedule(key: &[u8], value: &Bytes) -> Result<Option<ScheduleState>, FormatError> {
    let Some((family @ (&SCHEDULE | &PROGRESS), rest)) = key.split_first() else { return Ok(None) };
    let path = path_of(rest).ok_or_else(|| error(format!("{key:?} is not the key of one")))?;
    let fields = FieldReader::new(WHAT, VERSION, value.clone())?;
    Ok(Some(match *family {
        SCHEDULE => ScheduleState::Schedule(path, Box::new(schedule_from(fields)?)),
        _ => ScheduleState::Progress(path, progress_from(fields)?),
    }))
}

fn path_of(rest: &[u8]) -> Option<SchedulePath> {
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (namespace, schedule) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let namespace = NamespaceName::stored(text(namespace)?)?;
    Some(SchedulePath { namespace, schedule: ScheduleName::stored(text(schedule)?)? })
}

fn schedule_from(mut fields: FieldReader) -> Result<ScheduleEntry, FormatError> {
    let mut topic = None;
    let mut body = None;
    let mut message = NewMessage::default();
    let (mut cron, mut timezone, mut every, mut start, mut end, mut max_runs) = (None, None, None, None, None, None);
    let (mut jitter, mut catch_up, mut paused, mut timed_at) = (DelayMs::ZERO, None, false, Time::ZERO);
    while let Some((tag, value)) = fields.next_field()? {
        match tag {
            1 => topic = TopicName::stored(&fields.as_text(&value)?),
            2 => cron = Some(fields.as_text(&value)?),
            3 => timezone = Some(fields.as_text(&value)?),
            4 => every = Some(DelayMs::from_ms(fields.as_number(&value)?)),
            5 => start = Some(fields.as_time(&value)?),
            6 => end = Some(fields.as_time(&value)?),
            7 => max_runs = Some(fields.as_number(&value)?),
            8 => jitter = DelayMs::from_ms(fields.as_number(&value)?),
            9 => catch_up = Some(catch_up_from(fields.as_number(&value)?)?),
            10 => paused = fields.as_number(&value)? != 0,
            11 => timed_at = fields.as_time(&value)?,
            12 => message.key = Some(fields.as_text(&value)?),
            13 => message.on_conflict = on_conflict_from(fields.as_number(&value)?)?,
            14 => message.ordering_key = Some(fields.as_text(&value)?),
            15 => message.tag = Some(fields.as_text(&value)?),
            16 => message.headers = headers_from(&value).ok_or_else(|| error("its headers are not whole"))?,
            17 => {
                message.priority =
                    u8::try_from(fields.as_number(&value)?).map_err(|_| error("its priority is too large"))?;
            }
            18 => message.expires_after = Some(DelayMs::from_ms(fields.as_number(&value)?)),
            19 => body = Some(value),
            _ => {}
        }
    }
    message.body = body.ok_or_else(|| error("it has no body"))?;
    let topic = topic.ok_or_else(|| error("it has no topic"))?;
    let catch_up = catch_up.ok_or_else(|| error("it does not say how to catch up"))?;
    let settings =
        ScheduleSettings { topic, message, cron, timezone, every, start, end, max_runs, jitter, catch_up, paused };
    Ok(ScheduleEntry { settings, timed_at })
}

fn catch_up_from(number: u64) -> Result<CatchUp, FormatError> {
    match number {
        1 => Ok(CatchUp::None),
        2 => Ok(CatchUp::Last),
        3 => Ok(CatchUp::All),
        other => Err(error(format!("way to catch up {other} is not known"))),
    }
}

fn on_conflict_from(number: u64) -> Result<OnConflict, FormatError> {
    match number {
        1 => Ok(OnConflict::Reject),
        2 => Ok(OnConflict::Replace),
        3 => Ok(OnConflict::Keep),
        other => Err(error(format!("what to do on a conflict, {other}, is not known"))),
    }
}

fn progress_from(mut fields: FieldReader) -> Result<ProgressEntry, FormatError> {
    let mut progress = Progress::default();
    let (mut nominal_time, mut published_at, mut id) = (None, None, None);
    let (mut code, mut message, mut field) = (None, String::new(), None);
    while let Some((tag, value)) = fields.next_field()? {
        match tag {
            1 => progress.done_to = fields.as_time(&value)?,
            2 => progress.runs = fields.as_number(&value)?,
            3 => nominal_time = Some(fields.as_time(&value)?),
            4 => published_at = Some(fields.as_time(&value)?),
            5 => id = Some(MessageId::new(&fields.as_text(&value)?)),
            // A code of a later version is still an error.
            6 => code = Some(Code::from_slug(&fields.as_text(&value)?).unwrap_or(Code::Internal)),
            7 => message = fields.as_text(&value)?,
            8 => field = Some(fields.as_text(&value)?),
            _ => {}
        }
    }
    let error = code.map(|code| Error { field, ..Error::new(code, message) });
    let last = nominal_time.map(|nominal_time| ScheduleRun { nominal_time, published_at, id, error });
    Ok(ProgressEntry { progress, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> SchedulePath {
        let schedule = ScheduleName::parse("nightly").expect("a name");
        SchedulePath { namespace: NamespaceName::default(), schedule }
    }

    fn at(ms: u64) -> Time {
        Time::from_unix_ms(ms).expect("before the year 10000")
    }

    fn settings() -> ScheduleSettings {
        ScheduleSettings {
            topic: TopicName::parse("t").expect("a name"),
            message: NewMessage { body: Bytes::from_static(b"b"), ..NewMessage::default() },
            cron: Some("0 9 * * *".to_owned()),
            timezone: Some("UTC".to_owned()),
            every: None,
            start: None,
            end: None,
            max_runs: None,
            jitter: DelayMs::ZERO,
            catch_up: CatchUp::None,
            paused: false,
        }
    }

    #[test]
    fn schedules_keep_their_bytes() {
        let entry = ScheduleEntry { settings: settings(), timed_at: at(258) };
        let (key, value) = keep_schedule(&path(), &entry);
        assert_eq!(key.as_ref(), b"\x14\x00\x07defaultnightly");
        assert_eq!(
            value.as_deref(),
            Some(&b"\x01\x01\x01t\x02\x090 9 * * *\x03\x03UTC\x09\x01\x01\x0b\x02\x01\x02\x0d\x01\x01\x13\x01b"[..])
        );
        let last = ScheduleRun { nominal_time: at(1), published_at: Some(at(2)), id: None, error: None };
        let entry = ProgressEntry { progress: Progress { done_to: at(258), runs: 3 }, last: Some(last) };
        let (key, value) = keep_progress(&path(), &entry);
        assert_eq!(key.as_ref(), b"\x15\x00\x07defaultnightly");
        let expected = b"\x01\x01\x02\x01\x02\x02\x01\x03\x03\x08\0\0\0\0\0\0\0\x01\x04\x08\0\0\0\0\0\0\0\x02";
        assert_eq!(value.as_deref(), Some(&expected[..]));
    }

    #[test]
    fn what_is_kept_comes_back() {
        let full = ScheduleSettings {
            message: NewMessage {
                body: Bytes::from_static(&[0, 255]),
                key: Some("k".to_owned()),
                on_conflict: OnConflict::Replace,
                ordering_key: Some("o".to_owned()),
                tag: Some("tag".to_owned()),
                headers: vec![("a".to_owned(), String::new()), ("ä".to_owned(), "2".to_owned())],
                priority: 7,
                expires_after: Some(DelayMs::ZERO),
                ..NewMessage::default()
            },
            cron: None,
            timezone: None,
            every: Some(DelayMs::from_secs(5)),
            start: Some(at(0)),
            end: Some(Time::MAX),
            max_runs: Some(u64::MAX),
            jitter: DelayMs::from_ms(9),
            catch_up: CatchUp::All,
            paused: true,
            ..settings()
        };
        for settings in [settings(), full] {
            let entry = ScheduleEntry { settings, timed_at: at(5) };
            let (key, value) = keep_schedule(&path(), &entry);
            let read = decode_schedule(&key, &value.expect("a value"));
            assert_eq!(read, Ok(Some(ScheduleState::Schedule(path(), Box::new(entry)))));
        }
        let refused = Error::new(Code::TopicNotFound, "there is no topic").with_field("topic");
        let last = ScheduleRun { nominal_time: at(1), published_at: None, id: None, error: Some(refused) };
        let done =
            ScheduleRun { nominal_time: at(0), published_at: Some(at(0)), id: Some(MessageId::new("i")), error: None };
        for last in [None, Some(last), Some(done)] {
            let entry = ProgressEntry { progress: Progress { done_to: at(9), runs: 2 }, last };
            let (key, value) = keep_progress(&path(), &entry);
            let read = decode_schedule(&key, &value.expect("a value"));
            assert_eq!(read, Ok(Some(ScheduleState::Progress(path(), entry))));
        }
    }

    #[test]
    fn damaged_schedules_are_refused_and_others_left_alone() {
        let (key, value) = keep_schedule(&path(), &ScheduleEntry { settings: settings(), timed_at: at(5) });
        let value = value.expect("a value");
        assert_eq!(decode_schedule(&[19, 0], &value), Ok(None));
        assert!(decode_schedule(&[20, 0, 9, b'x'], &value).is_err(), "a namespace that is cut off");
        assert!(decode_schedule(&key, &Bytes::from_static(&[9])).is_err(), "a later version");
        assert!(decode_schedule(&key, &value.slice(..value.len() - 3)).is_err(), "no body");
    }
}
