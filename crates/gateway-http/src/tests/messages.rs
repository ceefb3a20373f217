//! One message, as JSON and as a query.

use bytes::Bytes;
use expect_test::{Expect, expect};

use super::show;
use crate::{batch, message, query};

fn check(lines: &[&str], expected: &Expect) {
    let shown: Vec<_> = lines.iter().map(|line| show(&batch::parse_line(line.as_bytes()))).collect();
    expected.assert_eq(&shown.join("\n"));
}

fn check_query(queries: &[&str], expected: &Expect) {
    let read = |text: &&str| query::parse(Some(text)).and_then(|query| message::of_query(query, Bytes::from("b")));
    let shown: Vec<_> = queries.iter().map(|text| show(&read(text))).collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn a_message_is_read_with_all_its_fields() {
    check(
        &[
            r#"{}"#,
            r#"{"body":"grüß\n\u0000dich"}"#,
            r#"{"body_base64":"/wD+"}"#,
            r#"{"body_base64":"YQ"}"#,
            r#"{"body":"b","delay":"1h30m","key":"k/1","on_conflict":"replace","dedup_id":"d","ordering_key":"o","tag":"t","headers":{"z":"1","a":""},"priority":7,"expires_after":1500}"#,
            r#"{"deliver_at":"2026-11-30T13:00:00.0001+01:00"}"#,
            r#"{"deliver_at":0}"#,
            r#"{"delay":18446744073709551615}"#,
            r#"{"delay_level":3,"delay":null,"key":null}"#,
            r#"{"delay":"1h","prepare":{"timeout":"1m","max_checks":15}}"#,
        ],
        &expect![[r#"
            body b""
            body b"gr\xc3\xbc\xc3\x9f\n\0dich"
            body b"\xff\0\xfe"
            body b"a"
            body b"b", delay 5400000ms, key "k/1", dedup_id "d", ordering_key "o", tag "t", on_conflict Replace, headers [("z", "1"), ("a", "")], priority 7, expires_after 1500ms
            body b"", at 2026-11-30T12:00:00.001Z
            body b"", at 1970-01-01T00:00:00.000Z
            body b"", delay 18446744073709551615ms
            body b"", level 3
            body b"", delay 3600000ms, prepare 60000ms with 15 checks"#]],
    );
}

#[test]
fn a_wrong_message_is_refused_by_field_and_value() {
    check(
        &[
            r#"3"#,
            r#"{"dealy":"5s"}"#,
            r#"{"body":"a","body":"b"}"#,
            r#"{"body":{"a":1}}"#,
            r#"{"body":"a","body_base64":"YQ=="}"#,
            r#"{"body_base64":"a!!a"}"#,
            r#"{"body_base64":7}"#,
            r#"{"delay_level":-1}"#,
            r#"{"delay_level":4294967296}"#,
            r#"{"priority":256}"#,
            r#"{"priority":"1"}"#,
            r#"{"key":5}"#,
            r#"{"on_conflict":"overwrite"}"#,
            r#"{"headers":{"a":1}}"#,
            r#"{"headers":{"a":"1","a":"2"}}"#,
            r#"{"headers":[]}"#,
            r#"{"prepare":{"timeout":"5s"}}"#,
            r#"{"body":"not ended"#,
            r#"{"body":"\ud800"}"#,
            r#"{"tag":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","priority":"äääääääääääääääääääääääääääääääääääääääääääääääääääää"}"#,
        ],
        &expect![[r#"
            invalid_field [-] a message is a JSON object, and this is not one
            unknown_field [dealy] this call knows no field `dealy`
            invalid_field [body] `body` is given twice
            invalid_field [body] cannot take `body`: an object is not a string
            exclusive_fields [body_base64] the request has `body` and `body_base64` at once
            invalid_base64 [body_base64] cannot take `body_base64`: invalid symbol 33, offset 1
            invalid_field [body_base64] cannot take `body_base64`: 7 is not a string
            invalid_field [delay_level] cannot take `delay_level`: -1 is not a whole number from 0 to 4294967295
            invalid_field [delay_level] cannot take `delay_level`: 4294967296 is not a whole number from 0 to 4294967295
            invalid_field [priority] cannot take `priority`: 256 is not a whole number from 0 to 255
            invalid_field [priority] cannot take `priority`: "1" is not a whole number from 0 to 255
            invalid_field [key] cannot take `key`: 5 is not a string
            invalid_field [on_conflict] cannot take `on_conflict`: "overwrite" is not one of `reject`, `replace`, `keep`
            invalid_field [headers.a] cannot take `headers.a`: 1 is not a string
            invalid_field [headers.a] `headers.a` is given twice
            invalid_field [headers] cannot take `headers`: an array is not an object
            malformed_request [prepare.max_checks] the request has no `prepare.max_checks`
            malformed_request [-] cannot read the request as JSON: EOF while parsing a string at line 1 column 18
            malformed_request [-] cannot read the request as JSON: unexpected end of hex escape at line 1 column 16
            invalid_field [priority] cannot take `priority`: "ääääääääääääääääääääääääääääääää…" is not a whole number from 0 to 255"#]],
    );
}

#[test]
fn a_wrong_time_or_delay_is_refused_by_field_and_value() {
    check(
        &[
            r#"{"delay":"5s","deliver_at":0}"#,
            r#"{"deliver_at":0,"delay_level":1}"#,
            r#"{"delay":-5}"#,
            r#"{"delay":1.5}"#,
            r#"{"delay":18446744073709551616}"#,
            r#"{"delay":"-5s"}"#,
            r#"{"delay":"213503982335d"}"#,
            r#"{"delay":"5s1h"}"#,
            r#"{"delay":true}"#,
            r#"{"deliver_at":"tomorrow"}"#,
            r#"{"deliver_at":-1}"#,
            r#"{"deliver_at":253402300800000}"#,
            r#"{"deliver_at":[]}"#,
        ],
        &expect![[r#"
            exclusive_fields [deliver_at] the request has `delay` and `deliver_at` at once
            exclusive_fields [delay_level] the request has `deliver_at` and `delay_level` at once
            invalid_duration [delay] cannot take `delay`: -5 is negative
            invalid_duration [delay] cannot take `delay`: 1.5 is not a duration or a whole number of milliseconds below 18446744073709551616
            invalid_duration [delay] cannot take `delay`: 18446744073709552000 is not a duration or a whole number of milliseconds below 18446744073709551616
            invalid_duration [delay] cannot take `delay`: "-5s" is not a duration such as `1500ms`, `5s`, `15m`, `2h`, `7d`, `1h30m`
            invalid_duration [delay] cannot take `delay`: "213503982335d" has more than 18446744073709551615 milliseconds
            invalid_duration [delay] cannot take `delay`: "5s1h" has its units out of order or twice, the order is d, h, m, s, ms
            invalid_duration [delay] cannot take `delay`: true is not a duration or a whole number of milliseconds below 18446744073709551616
            invalid_time [deliver_at] cannot take `deliver_at`: "tomorrow" is neither RFC 3339, such as `2026-11-30T12:00:00Z`, nor Unix milliseconds
            invalid_time [deliver_at] cannot take `deliver_at`: -1 is negative
            invalid_time [deliver_at] cannot take `deliver_at`: 253402300800000 lies after the year 9999
            invalid_time [deliver_at] cannot take `deliver_at`: an array is neither RFC 3339 text nor a whole number of Unix milliseconds"#]],
    );
}

#[test]
fn a_query_holds_the_fields_of_a_message() {
    check_query(
        &[
            "",
            "delay=15m&key=a%2Fb+c&tag=t&h.x=1&h.b%20c=%C3%BC&h.a=",
            "deliver_at=2026-11-30T12:00:00+01:00",
            "deliver_at=1796040000123&on_conflict=keep&priority=3&expires_after=7d",
            "delay_level=2&dedup_id=d&ordering_key=o",
        ],
        &expect![[r#"
            body b"b"
            body b"b", delay 900000ms, key "a/b c", tag "t", headers [("x", "1"), ("b c", "ü"), ("a", "")]
            body b"b", at 2026-11-30T11:00:00.000Z
            body b"b", at 2026-11-30T12:00:00.123Z, on_conflict Keep, priority 3, expires_after 604800000ms
            body b"b", level 2, dedup_id "d", ordering_key "o""#]],
    );
}

#[test]
fn a_wrong_query_is_refused_by_parameter() {
    check_query(
        &[
            "dealy=5s",
            "delay=5s&delay=6s",
            "delay=5s&delay_level=2",
            "delay=",
            "delay=-1",
            "delay=1.5",
            "body=x",
            "key=%FF",
            "%FF=1",
            "h.=1",
            "h.a=1&h.a=2",
            "priority=-1",
            "priority=",
            "prepare=1",
        ],
        &expect![[r#"
            unknown_field [dealy] this call knows no query parameter `dealy`
            invalid_field [delay] `delay` is given twice
            exclusive_fields [delay_level] the request has `delay` and `delay_level` at once
            invalid_duration [delay] cannot take `delay`: "" is not a duration such as `1500ms`, `5s`, `15m`, `2h`, `7d`, `1h30m`
            invalid_duration [delay] cannot take `delay`: "-1" is not a duration such as `1500ms`, `5s`, `15m`, `2h`, `7d`, `1h30m`
            invalid_duration [delay] cannot take `delay`: "1.5" is not a duration such as `1500ms`, `5s`, `15m`, `2h`, `7d`, `1h30m`
            unknown_field [body] this call knows no query parameter `body`
            malformed_request [key] the query parameter `key=%FF` does not decode to UTF-8
            malformed_request [-] the query parameter `%FF=1` does not decode to UTF-8
            invalid_field [h.] a header has no name
            invalid_field [h.a] `h.a` is given twice
            invalid_field [priority] cannot take `priority`: "-1" is not a whole number from 0 to 255
            invalid_field [priority] cannot take `priority`: "" is not a whole number from 0 to 255
            unknown_field [prepare] this call knows no query parameter `prepare`"#]],
    );
}
