//! Catalog entries as they are stored: tagged fields under keys of the families 16 to 19.
//!
//! Settings that are at their default are stored too: a later version may have other defaults, and
//! what was made under the old ones keeps them.

use bytes::{BufMut, Bytes, BytesMut};
use punctual_broker_api::{
    Breaker, Durability, NamespaceLimits, NamespaceSettings, OnExpiry, RetryPolicy, Start, SubscriptionSettings,
    TopicSettings,
};
use punctual_core::{
    Filter, SubscriptionKind,
    format::{FormatError, fields::FieldWriter},
};
use punctual_types::{DelayMs, NamespaceName, SubscriptionName, SubscriptionNumber, TopicName, TopicNumber};

use super::fields::{Fields, VERSION, error, optional};

/// Families of keys. Never reused.
const COUNTERS: u8 = 16;
const NAMESPACE: u8 = 17;
const TOPIC: u8 = 18;
const SUBSCRIPTION: u8 = 19;

/// The highest numbers given so far: none is given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) topic: TopicNumber,
    pub(crate) subscription: SubscriptionNumber,
}

/// A stored namespace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamespaceEntry {
    pub(crate) name: NamespaceName,
    pub(crate) settings: NamespaceSettings,
}

/// A stored topic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TopicEntry {
    pub(crate) number: TopicNumber,
    pub(crate) namespace: NamespaceName,
    pub(crate) name: TopicName,
    pub(crate) root: TopicNumber,
    pub(crate) reserved: bool,
    pub(crate) settings: TopicSettings,
}

/// A stored subscription.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SubscriptionEntry {
    pub(crate) topic: TopicNumber,
    pub(crate) number: SubscriptionNumber,
    pub(crate) name: SubscriptionName,
    pub(crate) kind: SubscriptionKind,
    pub(crate) settings: SubscriptionSettings,
    pub(crate) dead_letter_topic: TopicNumber,
    pub(crate) paused: bool,
}

/// Any of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Counters(Counters),
    Namespace(NamespaceEntry),
    Topic(TopicEntry),
    Subscription(SubscriptionEntry),
}

fn key(entry: &Entry) -> Bytes {
    let mut key = BytesMut::new();
    match entry {
        Entry::Counters(_) => key.put_u8(COUNTERS),
        Entry::Namespace(entry) => {
            key.put_u8(NAMESPACE);
            key.put_slice(entry.name.as_str().as_bytes());
        }
        Entry::Topic(entry) => {
            key.put_u8(TOPIC);
            key.put_u32(entry.number.0);
        }
        Entry::Subscription(entry) => {
            key.put_u8(SUBSCRIPTION);
            key.put_u32(entry.topic.0);
            key.put_u32(entry.number.0);
        }
    }
    key.freeze()
}

/// The piece of state that keeps an entry.
pub(crate) fn keep(entry: &Entry) -> (Bytes, Option<Bytes>) {
    let mut out = FieldWriter::new(VERSION, 128);
    match entry {
        Entry::Counters(counters) => {
            out.number(1, counters.topic.0.into()).number(2, counters.subscription.0.into());
        }
        Entry::Namespace(NamespaceEntry { settings, .. }) => encode_namespace(&mut out, settings),
        Entry::Topic(topic) => encode_topic(&mut out, topic),
        Entry::Subscription(subscription) => encode_subscription(&mut out, subscription),
    }
    (key(entry), Some(out.finish()))
}

/// The piece of state that forgets an entry.
pub(crate) fn forget(entry: &Entry) -> (Bytes, Option<Bytes>) {
    (key(entry), None)
}

fn encode_namespace(out: &mut FieldWriter, settings: &NamespaceSettings) {
    optional(out, 1, settings.max_delay.map(DelayMs::ms));
    let levels: Vec<u8> = settings.delay_levels.iter().flat_map(|level| level.ms().to_be_bytes()).collect();
    out.bytes(2, &levels).number(3, settings.auto_create.into());
    optional(out, 4, settings.limits.max_scheduled);
    optional(out, 5, settings.limits.max_ready);
    optional(out, 6, settings.limits.max_bytes);
    optional(out, 7, settings.limits.publish_per_second);
}

fn encode_topic(out: &mut FieldWriter, topic: &TopicEntry) {
    let settings = &topic.settings;
    out.text(1, Some(topic.namespace.as_str())).text(2, Some(topic.name.as_str()));
    out.number(3, topic.root.0.into()).number(4, topic.reserved.into());
    out.number(5, settings.partitions.into()).number(6, settings.priorities.into());
    let durability = match settings.durability {
        Durability::Sync => 1,
        Durability::Async => 2,
        Durability::Memory => 3,
    };
    out.number(7, durability);
    optional(out, 8, settings.retention.map(DelayMs::ms));
    out.number(9, settings.keep_acked.ms());
    let on_expiry = match settings.on_expiry {
        OnExpiry::Drop => 1,
        OnExpiry::DeadLetter => 2,
    };
    out.number(10, on_expiry).number(11, settings.dedup_window.ms());
}

fn encode_subscription(out: &mut FieldWriter, subscription: &SubscriptionEntry) {
    let settings = &subscription.settings;
    out.text(1, Some(subscription.name.as_str())).number(2, subscription.dead_letter_topic.0.into());
    out.number(3, subscription.paused.into());
    let (start, start_time) = match settings.start {
        Start::Earliest => (1, None),
        Start::Latest => (2, None),
        Start::Time(time) => (3, Some(time.unix_ms())),
    };
    out.number(4, start).number(5, settings.lease.ms());
    out.number(6, settings.retry.max_attempts.into()).number(7, settings.retry.initial.ms());
    out.bytes(8, &settings.retry.multiplier.to_be_bytes()).number(9, settings.retry.max.ms());
    out.bytes(10, &settings.retry.jitter.to_be_bytes());
    out.text(11, settings.dead_letter_topic.as_deref());
    out.number(12, settings.max_in_flight.into()).number(13, settings.ordered.into());
    optional(out, 14, start_time);
    out.text(15, settings.filter.as_deref());
    optional(out, 16, settings.max_rate.map(u64::from));
    if let Some(breaker) = settings.breaker {
        out.number(17, breaker.failures.into()).number(18, breaker.window.ms()).number(19, breaker.pause.ms());
    }
    out.number(20, (subscription.kind == SubscriptionKind::Stream).into());
}

/// Reads an entry.
///
/// # Errors
/// When it is damaged or of a later version.
pub(crate) fn decode(key: &[u8], value: Bytes) -> Result<Entry, FormatError> {
    let broken = || error(format!("{key:?} is not the key of one"));
    let (family, rest) = key.split_first().ok_or_else(broken)?;
    let number = |from: usize| {
        let bytes = rest.get(from..from + 4).and_then(|bytes| bytes.try_into().ok()).ok_or_else(broken)?;
        Ok::<_, FormatError>(u32::from_be_bytes(bytes))
    };
    let fields = Fields::read(value)?;
    match *family {
        COUNTERS => Ok(Entry::Counters(Counters {
            topic: TopicNumber(fields.narrow(1)?),
            subscription: SubscriptionNumber(fields.narrow(2)?),
        })),
        NAMESPACE => {
            let name = std::str::from_utf8(rest).ok().and_then(NamespaceName::stored).ok_or_else(broken)?;
            Ok(Entry::Namespace(NamespaceEntry { name, settings: decode_namespace(&fields)? }))
        }
        TOPIC => decode_topic(TopicNumber(number(0)?), &fields).map(Entry::Topic),
        SUBSCRIPTION => decode_subscription(TopicNumber(number(0)?), SubscriptionNumber(number(4)?), &fields)
            .map(Entry::Subscription),
        _ => Err(broken()),
    }
}

fn decode_namespace(fields: &Fields) -> Result<NamespaceSettings, FormatError> {
    let levels = fields.bytes(2).unwrap_or_default();
    let (levels, rest) = levels.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(error("delay levels are not whole"));
    }
    Ok(NamespaceSettings {
        max_delay: fields.optional(1)?.map(DelayMs::from_ms),
        delay_levels: levels.iter().map(|level| DelayMs::from_ms(u64::from_be_bytes(*level))).collect(),
        auto_create: fields.number(3)? != 0,
        limits: NamespaceLimits {
            max_scheduled: fields.optional(4)?,
            max_ready: fields.optional(5)?,
            max_bytes: fields.optional(6)?,
            publish_per_second: fields.optional(7)?,
        },
    })
}

fn decode_topic(number: TopicNumber, fields: &Fields) -> Result<TopicEntry, FormatError> {
    let durability = match fields.number(7)? {
        1 => Durability::Sync,
        2 => Durability::Async,
        3 => Durability::Memory,
        other => return Err(error(format!("durability {other} is not known"))),
    };
    let on_expiry = match fields.number(10)? {
        1 => OnExpiry::Drop,
        2 => OnExpiry::DeadLetter,
        other => return Err(error(format!("what to do on expiry, {other}, is not known"))),
    };
    Ok(TopicEntry {
        number,
        namespace: fields
            .text(1)?
            .and_then(|name| NamespaceName::stored(&name))
            .ok_or_else(|| error("no namespace"))?,
        name: fields.text(2)?.and_then(|name| TopicName::stored(&name)).ok_or_else(|| error("no name"))?,
        root: TopicNumber(fields.narrow(3)?),
        reserved: fields.number(4)? != 0,
        settings: TopicSettings {
            partitions: fields.narrow(5)?,
            priorities: fields.narrow(6)?,
            durability,
            retention: fields.optional(8)?.map(DelayMs::from_ms),
            keep_acked: DelayMs::from_ms(fields.number(9)?),
            on_expiry,
            dedup_window: DelayMs::from_ms(fields.number(11)?),
        },
    })
}

fn decode_subscription(
    topic: TopicNumber,
    number: SubscriptionNumber,
    fields: &Fields,
) -> Result<SubscriptionEntry, FormatError> {
    let start = match fields.number(4)? {
        1 => Start::Earliest,
        2 => Start::Latest,
        3 => Start::Time(fields.time(14)?),
        other => return Err(error(format!("start {other} is not known"))),
    };
    Ok(SubscriptionEntry {
        topic,
        number,
        name: fields.text(1)?.and_then(|name| SubscriptionName::stored(&name)).ok_or_else(|| error("no name"))?,
        kind: if fields.number(20)? == 0 { SubscriptionKind::Shared } else { SubscriptionKind::Stream },
        dead_letter_topic: TopicNumber(fields.narrow(2)?),
        paused: fields.number(3)? != 0,
        settings: SubscriptionSettings {
            start,
            lease: DelayMs::from_ms(fields.number(5)?),
            retry: RetryPolicy {
                max_attempts: fields.narrow(6)?,
                initial: DelayMs::from_ms(fields.number(7)?),
                multiplier: fields.real(8)?,
                max: DelayMs::from_ms(fields.number(9)?),
                jitter: fields.real(10)?,
            },
            dead_letter_topic: fields.text(11)?,
            max_in_flight: fields.narrow(12)?,
            ordered: fields.number(13)? != 0,
            filter: decode_filter(fields)?,
            max_rate: fields.optional(16)?.map(|rate| u32::try_from(rate).unwrap_or(u32::MAX)),
            breaker: decode_breaker(fields)?,
        },
    })
}

/// The filter as it was set. One that cannot be read must not become none, which would let through
/// what it was to keep away.
fn decode_filter(fields: &Fields) -> Result<Option<String>, FormatError> {
    let filter = fields.text(15)?;
    let read = filter.as_deref().map(Filter::parse).transpose();
    read.map_err(|why| error(format!("a filter cannot be read: {why}")))?;
    Ok(filter)
}

fn decode_breaker(fields: &Fields) -> Result<Option<Breaker>, FormatError> {
    let time = |tag| Ok::<_, FormatError>(DelayMs::from_ms(fields.number(tag)?));
    match fields.narrow(17)? {
        0 => Ok(None),
        failures => Ok(Some(Breaker { failures, window: time(18)?, pause: time(19)? })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: Entry, expected_key: &[u8], expected_value: &[u8]) {
        let (key, value) = keep(&entry);
        let value = value.expect("an entry has a value");
        assert_eq!(key, expected_key);
        assert_eq!(value, expected_value);
        assert_eq!(decode(&key, value), Ok(entry));
    }

    #[test]
    fn entries_keep_their_bytes() {
        check(
            Entry::Counters(Counters { topic: TopicNumber(258), subscription: SubscriptionNumber(3) }),
            &[16],
            &[1, 1, 2, 1, 2, 2, 1, 3],
        );
        let settings = NamespaceSettings { delay_levels: vec![DelayMs::from_secs(1)], ..NamespaceSettings::default() };
        check(
            Entry::Namespace(NamespaceEntry { name: NamespaceName::default(), settings }),
            b"\x11default",
            &[1, 2, 8, 0, 0, 0, 0, 0, 0, 3, 232, 3, 1, 1],
        );
        let topic = TopicEntry {
            number: TopicNumber(7),
            namespace: NamespaceName::default(),
            name: TopicName::parse("t").expect("a name"),
            root: TopicNumber(7),
            reserved: false,
            settings: TopicSettings::default(),
        };
        check(
            Entry::Topic(topic),
            &[18, 0, 0, 0, 7],
            b"\x01\x01\x07default\x02\x01t\x03\x01\x07\x05\x01\x01\x06\x01\x01\x07\x01\x01\x0a\x01\x01\x0b\x03\x09\x27\xc0",
        );
        let subscription = SubscriptionEntry {
            topic: TopicNumber(7),
            number: SubscriptionNumber(1),
            name: SubscriptionName::parse("s").expect("a name"),
            kind: SubscriptionKind::Shared,
            settings: SubscriptionSettings::default(),
            dead_letter_topic: TopicNumber(8),
            paused: true,
        };
        check(
            Entry::Subscription(subscription),
            &[19, 0, 0, 0, 7, 0, 0, 0, 1],
            b"\x01\x01\x01s\x02\x01\x08\x03\x01\x01\x04\x01\x01\x05\x02\x75\x30\x06\x01\x10\x07\x02\x03\xe8\
              \x08\x08\x40\0\0\0\0\0\0\0\x09\x03\x04\x93\xe0\x0a\x08\x3f\xb9\x99\x99\x99\x99\x99\x9a\x0c\x03\x01\x86\xa0",
        );
    }

    #[test]
    fn what_decides_over_deliveries_keeps_its_bytes() {
        let settings = SubscriptionSettings {
            filter: Some("a || b".to_owned()),
            max_rate: Some(5),
            breaker: Some(Breaker { failures: 3, window: DelayMs::from_ms(4), pause: DelayMs::from_ms(258) }),
            ordered: true,
            ..SubscriptionSettings::default()
        };
        let (topic, number) = (TopicNumber(7), SubscriptionNumber(1));
        let name = SubscriptionName::parse("s").expect("a name");
        let dead_letter_topic = TopicNumber(8);
        let entry = SubscriptionEntry {
            topic,
            number,
            name,
            kind: SubscriptionKind::Shared,
            settings,
            dead_letter_topic,
            paused: false,
        };
        let (key, value) = keep(&Entry::Subscription(entry.clone()));
        let value = value.expect("an entry has a value");
        let end = b"\x0d\x01\x01\x0f\x06a || b\x10\x08\0\0\0\0\0\0\0\x05\x11\x01\x03\x12\x01\x04\x13\x02\x01\x02";
        assert!(value.ends_with(end), "{value:?}");
        assert_eq!(decode(&key, value.clone()), Ok(Entry::Subscription(entry)));
        let mut unread = value.to_vec();
        let filter = unread.windows(6).position(|window| window == b"a || b").expect("it is there");
        unread[filter + 3] = b'(';
        assert!(decode(&key, unread.into()).is_err(), "a filter that cannot be read lets nothing through");
    }

    #[test]
    fn damaged_entries_are_refused() {
        let (key, value) = keep(&Entry::Counters(Counters::default()));
        let value = value.expect("an entry has a value");
        assert!(decode(&[], value.clone()).is_err());
        assert!(decode(&[99], value.clone()).is_err());
        assert!(decode(&key, Bytes::from_static(&[9])).is_err(), "a later version");
        assert!(decode(&[18, 0, 0, 0, 7], value).is_err(), "a topic without a name");
    }
}
