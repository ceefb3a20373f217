//! Answers as they are written.

use std::sync::Arc;

use bytes::Bytes;
use expect_test::{Expect, expect};
use punctual_broker_api::{
    Code, DeadLetterHistory, DeadLetterReason, Delivery, Error, MessageId, PublishStatus, Published, Receipt, Time,
};
use serde::Serialize;

use crate::{
    answer::{self, DeliveryAnswer},
    refusal,
};

fn at(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("a time")
}

fn check(value: &impl Serialize, expected: &Expect) {
    expected.assert_eq(&serde_json::to_string_pretty(value).expect("JSON"));
}

fn delivery(body: &'static [u8]) -> Delivery {
    Delivery {
        id: MessageId::new("i1"),
        receipt: Receipt::new("r1"),
        topic: Arc::from("orders"),
        body: Bytes::from_static(body),
        key: None,
        ordering_key: None,
        tag: None,
        headers: Vec::new(),
        priority: 0,
        attempt: 1,
        published_at: at(1000),
        deliver_at: at(2000),
        delivered_at: at(2003),
        lateness_ms: 1,
        waited_ms: 2,
        lease_expires_at: at(32_003),
        dead_letter: None,
    }
}

#[test]
fn a_delivery_shows_text_as_text_and_leaves_out_what_is_not_there() {
    check(
        &DeliveryAnswer::of(&delivery("grüß \"dich\"\n".as_bytes())),
        &expect![[r#"
        {
          "id": "i1",
          "receipt": "r1",
          "topic": "orders",
          "body": "grüß \"dich\"\n",
          "headers": {},
          "priority": 0,
          "attempt": 1,
          "published_at": "1970-01-01T00:00:01.000Z",
          "deliver_at": "1970-01-01T00:00:02.000Z",
          "delivered_at": "1970-01-01T00:00:02.003Z",
          "lateness_ms": 1,
          "waited_ms": 2,
          "lease_expires_at": "1970-01-01T00:00:32.003Z"
        }"#]],
    );
}

#[test]
fn a_delivery_shows_other_bytes_in_base64_and_a_dead_letter_its_history() {
    let mut delivery = delivery(b"\xff\x00\xfe");
    delivery.key = Some("k".to_owned());
    delivery.headers = vec![("z".to_owned(), "1".to_owned()), ("a".to_owned(), String::new())];
    delivery.dead_letter = Some(Box::new(DeadLetterHistory {
        reason: DeadLetterReason::AttemptsExhausted,
        topic: "orders".to_owned(),
        subscription: "closer".to_owned(),
        attempts: 16,
        first_delivered_at: Some(at(5)),
        last_error: None,
    }));
    check(
        &DeliveryAnswer::of(&delivery),
        &expect![[r#"
        {
          "id": "i1",
          "receipt": "r1",
          "topic": "orders",
          "body_base64": "/wD+",
          "key": "k",
          "headers": {
            "z": "1",
            "a": ""
          },
          "priority": 0,
          "attempt": 1,
          "published_at": "1970-01-01T00:00:01.000Z",
          "deliver_at": "1970-01-01T00:00:02.000Z",
          "delivered_at": "1970-01-01T00:00:02.003Z",
          "lateness_ms": 1,
          "waited_ms": 2,
          "lease_expires_at": "1970-01-01T00:00:32.003Z",
          "dead_letter": {
            "reason": "attempts_exhausted",
            "topic": "orders",
            "subscription": "closer",
            "attempts": 16,
            "first_delivered_at": "1970-01-01T00:00:00.005Z"
          }
        }"#]],
    );
}

#[test]
fn a_result_is_what_was_stored_or_the_error() {
    let stored = |status| Ok(Published { id: MessageId::new("i1"), deliver_at: at(0), status });
    let error = Error::new(Code::KeyConflict, "taken").with_field("key").with_hint("replace it");
    let mut text = Vec::new();
    for result in [
        stored(PublishStatus::Accepted),
        stored(PublishStatus::Duplicate),
        stored(PublishStatus::Kept),
        stored(PublishStatus::Prepared),
        stored(PublishStatus::Replaced { replaced_id: MessageId::new("i0") }),
        Err(error),
    ] {
        answer::write_result(&mut text, &result, "q1");
        text.push(b'\n');
    }
    expect![[r#"
        {"id":"i1","deliver_at":"1970-01-01T00:00:00.000Z","status":"accepted"}
        {"id":"i1","deliver_at":"1970-01-01T00:00:00.000Z","status":"duplicate"}
        {"id":"i1","deliver_at":"1970-01-01T00:00:00.000Z","status":"kept"}
        {"id":"i1","deliver_at":"1970-01-01T00:00:00.000Z","status":"prepared"}
        {"id":"i1","deliver_at":"1970-01-01T00:00:00.000Z","status":"replaced","replaced_id":"i0"}
        {"error":{"code":"key_conflict","kind":"conflict","field":"key","message":"taken","hint":"replace it","doc_url":"/docs/errors/key_conflict","request_id":"q1"}}
    "#]].assert_eq(&String::from_utf8(text).expect("UTF-8"));
}

#[test]
fn each_kind_has_its_status_and_what_can_be_retried_says_when() {
    let mut shown = String::new();
    for code in Code::ALL {
        let error = Error::new(*code, "m").with_retry_after_ms(1001);
        let response = refusal::respond(&error, "q");
        let retry = response.headers().get("retry-after").and_then(|value| value.to_str().ok()).unwrap_or("-");
        let line = format!("{} {} retry-after {retry}\n", error.kind().as_str(), response.status().as_u16());
        if !shown.contains(&line) {
            shown.push_str(&line);
        }
    }
    expect![[r#"
        invalid 400 retry-after -
        unauthenticated 401 retry-after -
        forbidden 403 retry-after -
        not_found 404 retry-after -
        conflict 409 retry-after -
        too_large 413 retry-after -
        overloaded 429 retry-after 2
        unavailable 503 retry-after 2
        unknown_outcome 504 retry-after -
        internal 500 retry-after -
    "#]]
    .assert_eq(&shown);
}
