//! Recurring schedules through the door, requests and answers held against the document.

use serde_json::{Value, json};

use crate::{
    house::House,
    tour::{NONE, Tourist},
};

const NIGHTLY: &str = "/v1/schedules/nightly";

#[tokio::test]
async fn a_schedule_is_made_changed_run_paused_and_deleted() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let settings = json!({
        "topic": "reports", "message": {"body": "make it", "headers": {"z": "1", "a": ""}, "expires_after": null},
        "cron": "30 13 * * *", "timezone": "Europe/Berlin", "jitter": "0s", "catch_up": "last",
    });
    let made = tourist.ask("PUT", NIGHTLY, &settings, 201).await;
    assert_eq!(made["next"][0], "2026-11-30T12:30:00.000Z");
    assert_eq!(made["next"].as_array().map(Vec::len), Some(5));
    assert_eq!((&made["last"], &made["runs"], &made["every_ms"]), (&NONE, &json!(0), &NONE));
    assert_eq!(tourist.ask("GET", NIGHTLY, &NONE, 200).await, made);
    // What was read can be sent back.
    assert_eq!(tourist.ask("PUT", NIGHTLY, &made, 200).await, made);
    house.advance(30 * 60_000).await;
    let read = tourist.ask("GET", NIGHTLY, &NONE, 200).await;
    let nominal = json!("2026-11-30T12:30:00.000Z");
    assert_eq!((&read["last"]["nominal_time"], &read["last"]["published_at"]), (&nominal, &nominal));
    assert_eq!(read["runs"], 1);
    let receive = "/v1/topics/reports/subscriptions/maker/receive";
    let received = tourist.ask("POST", receive, &json!({"max": 10}), 200).await;
    assert_eq!(received["messages"][0]["body"], "make it");
    let headers = json!({"z": "1", "a": "", "punctual-schedule": "nightly", "punctual-nominal-time": nominal});
    assert_eq!(received["messages"][0]["headers"], headers);
    let paused = tourist.ask("POST", &format!("{NIGHTLY}/pause"), &NONE, 200).await;
    assert_eq!(paused["paused"], true);
    let triggered = tourist.ask("POST", &format!("{NIGHTLY}/trigger"), &NONE, 200).await;
    assert_eq!((&triggered["runs"], &triggered["paused"]), (&json!(2), &json!(true)));
    let resumed = tourist.ask("POST", &format!("{NIGHTLY}/resume"), &NONE, 200).await;
    assert_eq!(resumed["paused"], false);
    let changed = tourist.ask("PUT", NIGHTLY, &json!({"every": "1h", "end": "2026-11-30T14:00:00Z"}), 200).await;
    assert_eq!((&changed["cron"], &changed["timezone"], &changed["every_ms"]), (&NONE, &NONE, &json!(3_600_000)));
    assert_eq!(changed["next"], json!(["2026-11-30T13:30:00.000Z"]), "fewer when it ends");
    let reset = tourist.ask("PUT", NIGHTLY, &json!({"end": null, "catch_up": null}), 200).await;
    assert_eq!((&reset["end"], &reset["catch_up"]), (&NONE, &json!("none")));
    tourist.ask("DELETE", NIGHTLY, &NONE, 200).await;
    tourist.ask("GET", NIGHTLY, &NONE, 404).await;
}

#[tokio::test]
async fn schedules_of_namespaces_are_apart_and_come_in_pages() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    tourist.ask("PUT", "/v1/namespaces/shop", &json!({}), 201).await;
    let settings = json!({"topic": "t", "every": "1m", "message": {"body_base64": "/wD+", "expires_after_ms": 5}});
    for name in ["b", "a"] {
        let path = format!("/v1/namespaces/shop/schedules/{name}");
        let made = tourist.ask("PUT", &path, &settings, 201).await;
        assert_eq!(made["message"]["body_base64"], "/wD+");
    }
    let page = tourist.ask("GET", "/v1/namespaces/shop/schedules?limit=1", &NONE, 200).await;
    assert_eq!(page["schedules"][0]["name"], "a");
    let cursor = page["next_cursor"].as_str().expect("more").to_owned();
    let rest = tourist.ask("GET", &format!("/v1/namespaces/shop/schedules?limit=1&cursor={cursor}"), &NONE, 200).await;
    assert_eq!((&rest["schedules"][0]["name"], &rest["next_cursor"]), (&json!("b"), &NONE));
    assert_eq!(tourist.ask("GET", "/v1/schedules", &NONE, 200).await["schedules"], json!([]));
    tourist.ask("GET", "/v1/schedules/a", &NONE, 404).await;
}

#[tokio::test]
async fn a_run_that_was_refused_is_shown_with_its_error() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    tourist.ask("PUT", "/v1/namespaces/default", &json!({"auto_create": false}), 200).await;
    tourist.ask("PUT", NIGHTLY, &json!({"topic": "t", "every": "1m"}), 201).await;
    house.advance(60_000).await;
    let read = tourist.ask("GET", NIGHTLY, &NONE, 200).await;
    assert_eq!((&read["last"]["error"]["code"], &read["last"]["published_at"]), (&json!("topic_not_found"), &NONE));
    tourist.ask("POST", &format!("{NIGHTLY}/trigger"), &NONE, 404).await;
}

#[tokio::test]
async fn what_is_wrong_with_a_schedule_is_told_by_field() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    for (settings, code, field) in [
        (json!({"every": "1m"}), "malformed_request", "topic"),
        (json!({"topic": "t"}), "malformed_request", "cron"),
        (json!({"topic": "t", "every": "1m", "cron": "* * * * *"}), "exclusive_fields", "every"),
        (json!({"topic": "t", "every": "1m", "every_ms": 5}), "exclusive_fields", "every_ms"),
        (json!({"topic": "t", "cron": "61 * * * *"}), "invalid_cron", "cron"),
        (json!({"topic": "t", "cron": "* * * * *", "timezone": "Nowhere"}), "unknown_timezone", "timezone"),
        (json!({"topic": "a b", "every": "1m"}), "invalid_name", "topic"),
        (json!({"topic": "t", "every": "1m", "catch_up": "some"}), "invalid_field", "catch_up"),
        (json!({"topic": "t", "every": "1m", "start": "soon"}), "invalid_time", "start"),
        (json!({"topic": "t", "every": "1m", "message": {"delay": "1m"}}), "invalid_field", "message.delay"),
        (json!({"topic": "t", "every": "1m", "message": {"colour": 1}}), "unknown_field", "message.colour"),
        (json!({"topic": "t", "every": "1m", "message": 5}), "invalid_field", "message"),
        (json!({"topic": "t", "every": "1m", "colour": 1}), "unknown_field", "colour"),
    ] {
        let refused: Value = tourist.ask("PUT", NIGHTLY, &settings, 400).await;
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["field"]),
            (&json!(code), &json!(field)),
            "{settings}"
        );
    }
    tourist.ask("GET", NIGHTLY, &NONE, 404).await;
}
