//! PUT bodies.

use std::fmt::Debug;

use expect_test::{Expect, expect};
use punctual_broker_api::Error;

use super::show_error;
use crate::settings;

fn check<T: Debug>(texts: &[&str], read: impl Fn(&[u8]) -> Result<T, Error>, expected: &Expect) {
    let show = |text: &&str| {
        read(text.as_bytes()).map_or_else(
            |error| show_error(&error),
            |patch| format!("{patch:?}").replace(": Keep", ": _").replace("DelayMs", "ms"),
        )
    };
    expected.assert_eq(&texts.iter().map(show).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_topic_keeps_what_is_left_out_and_resets_what_is_null() {
    check(
        &[
            "",
            "{}",
            r#"{"partitions":4,"priorities":null,"durability":"async","retention":"7d","keep_acked_ms":5,"on_expiry":"dead_letter","dedup_window":null}"#,
            r#"{"retention":"7d","retention_ms":5}"#,
            r#"{"partitions":65536}"#,
            r#"{"durability":"fsync"}"#,
            r#"{"name":"t","stats":{},"paused":true}"#,
        ],
        settings::topic,
        &expect![[r#"
            TopicPatch { partitions: _, priorities: _, durability: _, retention: _, keep_acked: _, on_expiry: _, dedup_window: _ }
            TopicPatch { partitions: _, priorities: _, durability: _, retention: _, keep_acked: _, on_expiry: _, dedup_window: _ }
            TopicPatch { partitions: Set(4), priorities: Reset, durability: Set(Async), retention: Set(ms(604800000)), keep_acked: Set(ms(5)), on_expiry: Set(DeadLetter), dedup_window: Reset }
            exclusive_fields [retention_ms] the request has `retention` and `retention_ms` at once
            invalid_field [partitions] cannot take `partitions`: 65536 is not a whole number from 0 to 65535
            invalid_field [durability] cannot take `durability`: "fsync" is not one of `sync`, `async`, `memory`
            unknown_field [paused] this call knows no field `paused`"#]],
    );
}

#[test]
fn a_subscription_takes_its_retry_policy_field_by_field() {
    check(
        &[
            r#"{"start":"latest","lease":"1m","retry":{"max_attempts":3,"initial_ms":10,"multiplier":1.5,"max":"1m","jitter":0},"dead_letter_topic":"d","max_in_flight":5,"ordered":true}"#,
            r#"{"retry":null}"#,
            r#"{"retry":{"max_attempts":null}}"#,
            r#"{"retry":{"attempts":3}}"#,
            r#"{"retry":{"initial":-1}}"#,
            r#"{"retry":{"jitter":"x"}}"#,
            r#"{"retry":{"max":1,"max":2}}"#,
            r#"{"retry":5}"#,
            r#"{"name":"s","paused":true,"stats":{},"start":"2026-11-30T12:00:00Z","filter":"a || b","max_rate":5,"breaker":{"failures":5,"window":"1m","pause_ms":30000}}"#,
            r#"{"start":0,"filter":null,"max_rate":null,"breaker":null}"#,
            r#"{"start":"soon"}"#,
            r#"{"breaker":{"failures":5,"window":"1m"}}"#,
            r#"{"breaker":{"failures":5,"window":"1m","window_ms":5,"pause":1}}"#,
            r#"{"lease":"1m","lease_ms":5}"#,
        ],
        settings::subscription,
        &expect![[r#"
            SubscriptionPatch { start: Set(Latest), lease: Set(ms(60000)), retry: Set(RetryPatch { max_attempts: Set(3), initial: Set(ms(10)), multiplier: Set(1.5), max: Set(ms(60000)), jitter: Set(0.0) }), dead_letter_topic: Set("d"), max_in_flight: Set(5), ordered: Set(true), filter: _, max_rate: _, breaker: _ }
            SubscriptionPatch { start: _, lease: _, retry: Reset, dead_letter_topic: _, max_in_flight: _, ordered: _, filter: _, max_rate: _, breaker: _ }
            SubscriptionPatch { start: _, lease: _, retry: Set(RetryPatch { max_attempts: Reset, initial: _, multiplier: _, max: _, jitter: _ }), dead_letter_topic: _, max_in_flight: _, ordered: _, filter: _, max_rate: _, breaker: _ }
            unknown_field [retry.attempts] this call knows no field `retry.attempts`
            invalid_duration [retry.initial] cannot take `retry.initial`: -1 is negative
            invalid_field [retry.jitter] cannot take `retry.jitter`: "x" is not a number
            invalid_field [retry.max] `retry.max` is given twice
            invalid_field [retry] cannot take `retry`: 5 is not an object
            SubscriptionPatch { start: Set(Time(Time(1796040000000))), lease: _, retry: _, dead_letter_topic: _, max_in_flight: _, ordered: _, filter: Set("a || b"), max_rate: Set(5), breaker: Set(Breaker { failures: 5, window: ms(60000), pause: ms(30000) }) }
            SubscriptionPatch { start: Set(Time(Time(0))), lease: _, retry: _, dead_letter_topic: _, max_in_flight: _, ordered: _, filter: Reset, max_rate: Reset, breaker: Reset }
            invalid_time [start] cannot take `start`: "soon" is neither RFC 3339, such as `2026-11-30T12:00:00Z`, nor Unix milliseconds
            malformed_request [breaker.pause] the request has no `breaker.pause`
            exclusive_fields [breaker.window_ms] the request has `breaker.window` and `breaker.window_ms` at once
            exclusive_fields [lease_ms] the request has `lease` and `lease_ms` at once"#]],
    );
}

#[test]
fn a_namespace_takes_its_table_of_levels() {
    check(
        &[
            r#"{"max_delay":"7d","delay_levels":["1s",5000],"auto_create":false,"limits":{"max_ready":5,"max_bytes":null}}"#,
            r#"{"delay_levels_ms":[1,2],"limits":null,"max_delay":null}"#,
            r#"{"delay_levels":["1s","x"]}"#,
            r#"{"delay_levels":"1s"}"#,
            r#"{"limits":{"max_redy":5}}"#,
            r#"{"limits":{"max_ready":-5}}"#,
        ],
        settings::namespace,
        &expect![[r#"
            NamespacePatch { max_delay: Set(ms(604800000)), delay_levels: Set([ms(1000), ms(5000)]), auto_create: Set(false), limits: Set(NamespaceLimits { max_scheduled: None, max_ready: Some(5), max_bytes: None, publish_per_second: None }) }
            NamespacePatch { max_delay: Reset, delay_levels: Set([ms(1), ms(2)]), auto_create: _, limits: Reset }
            invalid_duration [delay_levels[1]] cannot take `delay_levels`: "x" is not a duration such as `1500ms`, `5s`, `15m`, `2h`, `7d`, `1h30m`
            invalid_field [delay_levels] cannot take `delay_levels`: "1s" is not an array
            unknown_field [limits.max_redy] this call knows no field `limits.max_redy`
            invalid_field [limits.max_ready] cannot take `limits.max_ready`: -5 is not a whole number from 0 to 18446744073709551615"#]],
    );
    let many = format!(r#"{{"delay_levels":[{}]}}"#, vec!["1"; 65].join(","));
    check(
        &[many.as_str()],
        settings::namespace,
        &expect!["invalid_field [delay_levels] cannot take `delay_levels`: it has 65 values, allowed are 64"],
    );
}
