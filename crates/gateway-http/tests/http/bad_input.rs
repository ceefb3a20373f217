//! Bad input of every sort: the code, the kind, the field; nothing changed; the connection goes on.

use serde_json::{Value, json};

use crate::{
    house::House,
    wire::{Answer, Wire},
};

/// A house with a topic, a subscription, a scheduled message and a leased one.
struct Scene {
    _house: House,
    wire: Wire,
    receipt: String,
}

impl Scene {
    async fn set() -> Self {
        let house = House::open().await;
        let mut wire = house.connect().await;
        for path in ["/v1/topics/t/subscriptions/s", "/v1/topics/t/subscriptions/other"] {
            assert_eq!(wire.ask("PUT", path, "").await.status, 201);
        }
        assert_eq!(wire.post("/v1/topics/t/publish?delay=15m&key=taken", "later").await.status, 200);
        assert_eq!(wire.post("/v1/topics/t/publish?delay=20m", "later still").await.status, 200);
        assert_eq!(wire.post("/v1/topics/t/publish", "now").await.status, 200);
        house.advance(1).await;
        let taken = wire.post("/v1/topics/t/subscriptions/s/receive", r#"{"wait":"5s"}"#).await.json();
        let receipt = taken["messages"][0]["receipt"].as_str().expect("a receipt").to_owned();
        Self { _house: house, wire, receipt }
    }

    /// Everything that a bad request might have changed.
    async fn state(&mut self) -> Vec<Value> {
        let mut state = Vec::new();
        for path in ["/v1/namespaces", "/v1/topics", "/v1/topics/t/messages", "/v1/topics/t/subscriptions", "/v1/clock"]
        {
            let mut value = self.wire.get(path).await.json();
            // The wall clock is the machine's and moves by itself.
            for field in ["wall", "step_ms"] {
                value.as_object_mut().expect("an object").remove(field);
            }
            state.push(value);
        }
        state
    }

    /// Sends a bad request on the one connection of the scene.
    async fn refuse(&mut self, method: &str, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let before = self.state().await;
        let answer = self.wire.ask(method, path, body).await;
        assert!(answer.status >= 400, "{method} {path} was not refused: {}", answer.text());
        assert_eq!(self.state().await, before, "{method} {path} changed something");
        answer
    }

    async fn check(&mut self, method: &str, path: &str, body: impl AsRef<[u8]>, code: &str, field: Option<&str>) {
        let answer = self.refuse(method, path, body).await;
        assert_eq!(answer.fault(), (code.to_owned(), field.map(str::to_owned)), "{method} {path}: {}", answer.text());
        let error = &answer.json()["error"];
        let kind = error["kind"].as_str().expect("a kind");
        let status = match kind {
            "invalid" => 400,
            "not_found" => 404,
            "conflict" => 409,
            "too_large" => 413,
            other => panic!("kind {other} for {method} {path}"),
        };
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(error["doc_url"], format!("/docs/errors/{code}"));
        assert_eq!(error["request_id"].as_str(), answer.header("x-request-id"));
    }
}

#[tokio::test]
async fn a_bad_message_is_refused_alone_or_in_a_batch() {
    let mut scene = Scene::set().await;
    for (message, code, field) in [
        (r#"{"body":"x","nonsense":1}"#, "unknown_field", Some("nonsense")),
        (r#"{"body":"x","delay":"5s","deliver_at":0}"#, "exclusive_fields", Some("deliver_at")),
        (r#"{"body":"x","delay":"5s","delay_level":1}"#, "exclusive_fields", Some("delay_level")),
        (r#"{"body":"x","deliver_at":0,"delay_level":1}"#, "exclusive_fields", Some("delay_level")),
        (r#"{"body":"x","delay":-1}"#, "invalid_duration", Some("delay")),
        (r#"{"body":"x","delay":"-1s"}"#, "invalid_duration", Some("delay")),
        (r#"{"body":"x","delay":18446744073709551616}"#, "invalid_duration", Some("delay")),
        (r#"{"body":"x","delay":18446744073709551615}"#, "delay_too_long", Some("delay")),
        (r#"{"body":"x","delay":"3000000d"}"#, "delay_too_long", Some("delay")),
        (r#"{"body":"x","deliver_at":"10000-01-01T00:00:00Z"}"#, "invalid_time", Some("deliver_at")),
        (r#"{"body":"x","delay_level":0}"#, "unknown_delay_level", Some("delay_level")),
        (r#"{"body":"x","delay_level":19}"#, "unknown_delay_level", Some("delay_level")),
        (r#"{"body_base64":"?"}"#, "invalid_base64", Some("body_base64")),
        (r#"{"body":"x","body_base64":""}"#, "exclusive_fields", Some("body_base64")),
        (r#"{"body":"x","key":"taken","delay":"1m"}"#, "key_conflict", Some("key")),
        (r#"{"body":"x","key":""}"#, "invalid_handle", Some("key")),
        (r#"{"body":"x","dedup_id":""}"#, "invalid_handle", Some("dedup_id")),
        (r#"{"body":"x","priority":1}"#, "invalid_field", Some("priority")),
        (r#"{"body":"x","prepare":{}}"#, "malformed_request", Some("prepare.timeout")),
        (r#"{"body":"x","prepare":{"timeout":"1m"}}"#, "malformed_request", Some("prepare.max_checks")),
        (r#"{"body":"x","prepare":{"timeout":"1m","max_checks":-1}}"#, "invalid_field", Some("prepare.max_checks")),
        (r#"{"body":"x","prepare":{"timeout":"1m","checks":1}}"#, "malformed_request", Some("prepare.max_checks")),
        (r#"{"body":"x","prepare":true}"#, "invalid_field", Some("prepare")),
    ] {
        let answer = {
            let before = scene.state().await;
            let batch = format!(r#"{{"messages":[{message}]}}"#);
            let answer = scene.wire.post("/v1/topics/t/messages", batch).await;
            assert_eq!(scene.state().await, before, "{message} changed something");
            answer
        };
        assert_eq!(answer.status, 200, "a fault inside one message is not the call's: {message}");
        let error = answer.json()["results"][0]["error"].clone();
        assert_eq!((error["code"].as_str(), error["field"].as_str()), (Some(code), field), "{message}: {error}");
    }
    for (query, code, field) in [
        ("nonsense=1", "unknown_field", Some("nonsense")),
        ("delay=5s&deliver_at=0", "exclusive_fields", Some("deliver_at")),
        ("delay=-1", "invalid_duration", Some("delay")),
        ("delay=18446744073709551616", "invalid_duration", Some("delay")),
        ("delay_level=19", "unknown_delay_level", Some("delay_level")),
        ("key=taken", "key_conflict", Some("key")),
    ] {
        scene.check("POST", &format!("/v1/topics/t/publish?{query}"), "x", code, field).await;
    }
    let long = "k".repeat(256);
    scene.check("POST", &format!("/v1/topics/t/publish?key={long}"), "x", "invalid_handle", Some("key")).await;
}

#[tokio::test]
async fn a_bad_envelope_fails_the_call() {
    let mut scene = Scene::set().await;
    for (body, code, field) in [
        ("", "malformed_request", None),
        ("{", "malformed_request", None),
        ("{}", "malformed_request", Some("messages")),
        (r#"{"messages":5}"#, "malformed_request", Some("messages")),
        (r#"{"messages":[{"body":"x"}],"nonsense":1}"#, "unknown_field", Some("nonsense")),
        (r#"{"messages":[{"body":"x"}],"messages":[]}"#, "invalid_field", Some("messages")),
    ] {
        scene.check("POST", "/v1/topics/t/messages", body, code, field).await;
    }
    let many = format!(r#"{{"messages":[{}]}}"#, vec![r#"{"body":"x"}"#; 10_001].join(","));
    scene.check("POST", "/v1/topics/t/messages", many, "batch_too_large", Some("messages")).await;
    let body = "[".repeat(100_000);
    scene.check("POST", "/v1/topics/t/messages", format!(r#"{{"messages":{body}"#), "malformed_request", None).await;
}

#[tokio::test]
async fn a_bad_name_is_refused_before_anything_is_made() {
    let mut scene = Scene::set().await;
    let long = "n".repeat(256);
    for (method, path, field) in [
        ("POST", format!("/v1/topics/{long}/publish"), "topic"),
        ("PUT", "/v1/topics/a%20b".to_owned(), "topic"),
        ("PUT", "/v1/topics/a%2Fb".to_owned(), "topic"),
        ("PUT", format!("/v1/namespaces/{long}"), "namespace"),
        ("PUT", "/v1/namespaces/a%00/topics/t".to_owned(), "namespace"),
        ("PUT", format!("/v1/topics/t/subscriptions/{long}"), "subscription"),
        ("POST", "/v1/topics/t/subscriptions/%C3%BC/receive".to_owned(), "subscription"),
    ] {
        scene.check(method, &path, "", "invalid_name", Some(field)).await;
    }
    scene.check("PUT", "/v1/topics/%FF", "", "malformed_request", None).await;
}

#[tokio::test]
async fn receipts_that_are_not_ours_are_invalid_and_settle_nothing() {
    let mut scene = Scene::set().await;
    let receipt = scene.receipt.clone();
    let body = json!({"receipts": ["never given out", "", receipt]}).to_string();
    let other = "/v1/topics/t/subscriptions/other/ack";
    let before = scene.state().await;
    let results = scene.wire.post(other, &body).await.json();
    assert_eq!(results, json!({"results": ["invalid", "invalid", "invalid"]}));
    assert_eq!(scene.state().await, before);
    for (body, code, field) in [
        ("", "malformed_request", Some("receipts")),
        (r#"{"receipts":"r"}"#, "invalid_field", Some("receipts")),
        (r#"{"receipts":["r",1]}"#, "invalid_field", Some("receipts[1]")),
        (r#"{"receipts":[],"lease":5}"#, "unknown_field", Some("lease")),
    ] {
        scene.check("POST", "/v1/topics/t/subscriptions/s/ack", body, code, field).await;
    }
    let nowhere = json!({"receipts": [receipt]}).to_string();
    let answer = scene.refuse("POST", "/v1/topics/t/subscriptions/nowhere/ack", nowhere).await;
    assert_eq!(answer.fault().0, "subscription_not_found");
    let mine = json!({"receipts": [receipt]}).to_string();
    let results = scene.wire.post("/v1/topics/t/subscriptions/s/ack", mine).await.json();
    assert_eq!(results, json!({"results": ["acked"]}), "the lease was still good");
}

#[tokio::test]
async fn bad_fields_of_other_calls_are_refused_by_name() {
    let mut scene = Scene::set().await;
    let receive = "/v1/topics/t/subscriptions/s/receive";
    for (method, path, body, code, field) in [
        ("POST", receive, r#"{"max":0}"#, "invalid_field", Some("max")),
        ("POST", receive, r#"{"max":1001}"#, "invalid_field", Some("max")),
        ("POST", receive, r#"{"max":"1"}"#, "invalid_field", Some("max")),
        ("POST", receive, r#"{"wait":"2m"}"#, "invalid_field", Some("wait")),
        ("POST", receive, r#"{"lease":"1ms"}"#, "invalid_field", Some("lease")),
        ("POST", receive, r#"{"leese":"1m"}"#, "unknown_field", Some("leese")),
        ("POST", "/v1/topics/t/subscriptions/s/extend", r#"{"receipts":[]}"#, "malformed_request", Some("lease")),
        ("POST", "/v1/topics/t/subscriptions/s/seek", "{}", "malformed_request", Some("to")),
        ("POST", "/v1/topics/t/subscriptions/s/seek", r#"{"to":"soon"}"#, "invalid_time", Some("to")),
        ("PATCH", "/v1/topics/t/keys/taken", "{}", "malformed_request", Some("delay")),
        ("PATCH", "/v1/topics/t/keys/taken", r#"{"delay_level":19}"#, "unknown_delay_level", Some("delay_level")),
        ("PATCH", "/v1/topics/t/keys/taken", r#"{"delay":1,"delay_level":1}"#, "exclusive_fields", Some("delay_level")),
        ("PATCH", "/v1/topics/t/keys/taken", r#"{"delay":1,"deliver_at":1}"#, "exclusive_fields", Some("deliver_at")),
        ("PATCH", "/v1/topics/t/keys/taken", r#"{"delay":18446744073709551615}"#, "delay_too_long", Some("delay")),
        ("DELETE", "/v1/topics/t/messages", "", "malformed_request", Some("from")),
        ("DELETE", "/v1/topics/t/messages?from=5", "", "malformed_request", Some("to")),
        ("DELETE", "/v1/topics/t/messages?to=5", "", "malformed_request", Some("from")),
        ("DELETE", "/v1/topics/t/messages?all=true&state=ready", "", "invalid_field", Some("state")),
        ("DELETE", "/v1/topics/t/messages?all=true&to=5", "", "exclusive_fields", Some("all")),
        ("DELETE", "/v1/topics/t/keys/taken?force=1", "", "unknown_field", Some("force")),
        ("GET", "/v1/topics/t/messages?limit=0", "", "invalid_field", Some("limit")),
        ("GET", "/v1/topics/t/messages?limit=1001", "", "invalid_field", Some("limit")),
        ("GET", "/v1/topics/t/messages?cursor=nonsense", "", "invalid_cursor", Some("cursor")),
        ("GET", "/v1/topics?cursor=!", "", "invalid_cursor", Some("cursor")),
        ("GET", "/v1/topics/t/timeline?bucket=1s", "", "invalid_field", Some("bucket")),
        ("PUT", "/v1/topics/t", r#"{"partitions":2}"#, "setting_fixed", Some("partitions")),
        ("PUT", "/v1/topics/t", r#"{"dedup_window":"x"}"#, "invalid_duration", Some("dedup_window")),
        ("PUT", "/v1/topics/t/subscriptions/s", r#"{"filter":5}"#, "invalid_field", Some("filter")),
        ("PUT", "/v1/topics/t/subscriptions/s", r#"{"max_rate":1.5}"#, "invalid_field", Some("max_rate")),
        ("PUT", "/v1/topics/t/subscriptions/s", r#"{"start":"soon"}"#, "invalid_time", Some("start")),
        (
            "PUT",
            "/v1/topics/t/subscriptions/s",
            r#"{"breaker":{"failures":1,"window":"1m"}}"#,
            "malformed_request",
            Some("breaker.pause"),
        ),
        ("POST", "/v1/topics/t/messages/i/commit?at=1", "", "unknown_field", Some("at")),
        ("GET", "/v1/topics/t/subscriptions/s/messages?state=settled", "", "invalid_field", Some("state")),
        ("GET", "/v1/topics/t/subscriptions/s/messages?from=1", "", "unknown_field", Some("from")),
        ("POST", "/v1/topics/t/subscriptions/s/redrive", r#"{"max":"1"}"#, "invalid_field", Some("max")),
        ("POST", "/v1/topics/t/subscriptions/s/redrive", r#"{"ids":[1]}"#, "invalid_field", Some("ids[0]")),
        ("POST", "/v1/topics/t/subscriptions/s/redrive", r#"{"from":"x"}"#, "invalid_time", Some("from")),
        ("PUT", "/v1/topics/t/subscriptions/s", r#"{"lease":"13h"}"#, "invalid_field", Some("lease")),
        ("PUT", "/v1/namespaces/n", r#"{"limits":{"max":1}}"#, "unknown_field", Some("limits.max")),
        ("POST", "/v1/clock/advance", r#"{"by":"soon"}"#, "invalid_duration", Some("by")),
        ("GET", "/v1/clock?at=1", "", "unknown_field", Some("at")),
        ("GET", "/v1/nowhere", "", "route_not_found", None),
        ("PATCH", "/v1/topics/t", "{}", "route_not_found", None),
    ] {
        scene.check(method, path, body, code, field).await;
    }
}

#[tokio::test]
async fn a_cursor_belongs_to_its_query() {
    let mut scene = Scene::set().await;
    let page = scene.wire.get("/v1/topics/t/messages?limit=1").await.json();
    let cursor = page["next_cursor"].as_str().expect("a cursor").to_owned();
    let same = scene.wire.get(&format!("/v1/topics/t/messages?limit=1&cursor={cursor}")).await;
    assert_eq!(same.status, 200, "{}", same.text());
    for path in [
        format!("/v1/topics/t/messages?limit=1&key_prefix=a&cursor={cursor}"),
        format!("/v1/topics/t/messages?limit=1&from=5&cursor={cursor}"),
        format!("/v1/topics/t/subscriptions?limit=1&cursor={cursor}"),
    ] {
        scene.check("GET", &path, "", "invalid_cursor", Some("cursor")).await;
    }
}
