//! What words mean: items, settings, times and numbers.

use std::sync::Arc;

use bytes::Bytes;
use punctual_core::{
    BreakerRules, Command, Due, Filter, OnKeyConflict, Pace, PartitionId, Prepare, PublishItem, Retry,
    SubscriptionKind, SubscriptionRules, SubscriptionStart, TopicPlace,
};
use punctual_types::{
    ConsumerNumber, DelayMs, Lane, Offset, PartitionNumber, Position, Seq, SubscriptionNumber, TimelineId, TopicNumber,
};

use super::words::Words;

pub(super) fn item(name: &str, words: &Words) -> PublishItem {
    PublishItem {
        due: due(words),
        body: Bytes::copy_from_slice(name.as_bytes()),
        key: words.named("key").map(str::to_owned),
        on_conflict: match (words.has("replace"), words.has("keep")) {
            (true, _) => OnKeyConflict::Replace,
            (_, true) => OnKeyConflict::Keep,
            _ => OnKeyConflict::Reject,
        },
        dedup_id: words.named("dedup").map(str::to_owned),
        ordering_key: words.named("order").map(str::to_owned),
        tag: words.named("tag").map(str::to_owned),
        headers: words.named("header").map(|value| ("name".to_owned(), value.to_owned())).into_iter().collect(),
        priority: words.number("priority").unwrap_or(0),
        expires_after: words.duration("expires"),
        prepare: words
            .duration("prepare")
            .map(|timeout| Prepare { timeout, max_checks: words.number("checks").unwrap_or(2) }),
    }
}

/// The settings of a subscription.
pub(super) fn rules(words: &Words) -> SubscriptionRules {
    SubscriptionRules {
        name: words.at(1).into(),
        lease: words.duration("lease").unwrap_or(DelayMs::from_secs(30)),
        retry: Retry {
            max_attempts: words.number("attempts").unwrap_or(16),
            initial: words.duration("initial").unwrap_or(DelayMs::from_secs(1)),
            multiplier: words.number("multiplier").unwrap_or(2.0),
            max: words.duration("max").unwrap_or(DelayMs::from_secs(300)),
            jitter: words.number("jitter").unwrap_or(0.0),
        },
        dead_letters: TopicPlace::of(words.after("dead").map_or(TopicNumber(9), |name| topic(name).topic), 1),
        max_in_flight: words.number("in-flight").unwrap_or(100_000),
        kind: if words.has("stream") { SubscriptionKind::Stream } else { SubscriptionKind::Shared },
        paused: words.has("paused"),
        ordered: words.has("ordered"),
        breaker: words.number("breaker").map(|failures| BreakerRules {
            failures,
            window: words.duration("within").expect("`breaker N within TIME pause TIME`"),
            pause: words.duration("pause").expect("`breaker N within TIME pause TIME`"),
        }),
        pace: words
            .number("pace")
            .map(|messages| Pace { messages, per: words.duration("per").expect("`pace N per TIME`") }),
        filter: words.rest_after("filter").map(|text| Arc::new(Filter::parse(&text).expect("a filter"))),
    }
}

pub(super) fn log_command(partition: PartitionId, words: &Words) -> Command {
    match words.at(0) {
        "offsets" => {
            Command::LogOffsets { partition, subscription: words.after("of").map(subscription), at: words.time("at") }
        }
        "read" => Command::ReadLog {
            partition,
            from: Offset(words.number("from").unwrap_or(0)),
            max: words.number("max").unwrap_or(1000),
            bytes_max: words.number("bytes").unwrap_or(1 << 20),
        },
        _ => Command::CommitOffset {
            partition,
            subscription: subscription(words.at(1)),
            offset: Offset(words.at(2).parse().expect("`commit-offset SUB OFFSET`")),
        },
    }
}

pub(super) fn start(words: &Words) -> SubscriptionStart {
    match words.time("from") {
        Some(time) => SubscriptionStart::At(time),
        None if words.has("latest") => SubscriptionStart::Latest,
        None => SubscriptionStart::Earliest,
    }
}

pub(super) fn due(words: &Words) -> Due {
    match (words.duration("after"), words.time("at")) {
        (Some(delay), _) => Due::After(delay),
        (None, Some(time)) => Due::At(time),
        (None, None) => Due::Now,
    }
}

/// `t3` is partition 0 of topic 3.
pub(super) fn topic(name: &str) -> PartitionId {
    let number = name.strip_prefix('t').and_then(|number| number.parse().ok()).expect("a topic is t and a number");
    PartitionId { topic: TopicNumber(number), partition: PartitionNumber(0) }
}

pub(super) fn subscription(name: &str) -> SubscriptionNumber {
    SubscriptionNumber(name.strip_prefix('s').and_then(|number| number.parse().ok()).expect("s and a number"))
}

pub(super) fn consumer(words: &Words) -> ConsumerNumber {
    ConsumerNumber(words.numbered('c').first().map_or(1, |name| name[1..].parse().expect("c and a number")))
}

pub(super) fn lane_name(timeline: TimelineId) -> String {
    match timeline.lane {
        Lane::Priority(0) => format!("t{}", timeline.topic),
        Lane::Priority(priority) => format!("t{} priority {priority}", timeline.topic),
        Lane::Retry(subscription) => format!("t{} retries of s{subscription}", timeline.topic),
        Lane::Expiry => format!("t{} expiry", timeline.topic),
        Lane::Check => format!("t{} check", timeline.topic),
        Lane::Outgoing(shard) => format!("transfers to shard {shard}"),
    }
}

/// A position as `due.number`.
pub(super) fn position_text(position: Position) -> String {
    match position {
        Position::MIN => "the start".into(),
        Position::MAX => "the end".into(),
        Position { due, seq: Seq(u64::MAX) } => format!("{}.last", due.unix_ms()),
        Position { due, seq } => format!("{}.{seq}", due.unix_ms()),
    }
}
