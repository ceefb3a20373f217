//! A tour of every call, its requests and answers held against the OpenAPI document.

use punctual_broker_api::Code;
use serde_json::{Value, json};

use crate::{
    document::Document,
    house::House,
    wire::{Answer, Wire},
};

/// A client that checks both sides of each exchange.
pub(crate) struct Tourist {
    pub(crate) wire: Wire,
    document: Document,
}

impl Tourist {
    pub(crate) async fn of(house: &House) -> Self {
        let mut wire = house.connect().await;
        let document = Document::fetch(&mut wire).await;
        Self { wire, document }
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &Value, status: u16) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.raw(method, path, body.as_bytes(), status).await;
        answer.json()
    }

    async fn raw(&mut self, method: &str, path: &str, body: &[u8], status: u16) -> Answer {
        if status < 300 {
            self.document.check_request(method, path, body);
        }
        let answer = self.wire.ask(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert!(answer.header("x-request-id").is_some(), "{answer:?}");
        self.document.check_answer(method, path, &answer);
        answer
    }
}

pub(crate) const NONE: Value = Value::Null;

/// Publishes three messages, due after 15 minutes, 30 minutes and a second; answers their ids.
async fn publish_three(tourist: &mut Tourist) -> Vec<String> {
    let batch = json!({"messages": [
        {"body": "one", "delay": "15m", "key": "order/17", "tag": "t", "headers": {"z": "1", "a": ""}},
        {"body_base64": "/wD+", "deliver_at": "2026-11-30T12:30:00Z"},
        {"body": "three", "delay_level": 1, "dedup_id": "d"},
    ]});
    let results = tourist.ask("POST", "/v1/topics/orders/messages", &batch, 200).await;
    let id = |result: &Value| {
        assert_eq!(result["status"], "accepted", "{result}");
        result["id"].as_str().expect("an id").to_owned()
    };
    results["results"].as_array().expect("results").iter().map(id).collect()
}

#[tokio::test]
async fn messages_are_published_once_kept_and_replaced() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let ids = publish_three(&mut tourist).await;
    let again = json!({"messages": [
        {"body": "three", "delay_level": 1, "dedup_id": "d"},
        {"body": "other", "delay": "1m", "key": "order/17"},
        {"body": "other", "delay": "1m", "key": "order/17", "on_conflict": "keep"},
        {"body": "other", "delay": "20m", "key": "order/17", "on_conflict": "replace"},
    ]});
    let answer = tourist.ask("POST", "/v1/topics/orders/messages", &again, 200).await;
    let results = answer["results"].as_array().expect("results");
    let first = json!({"id": ids[2], "deliver_at": "2026-11-30T12:00:01.000Z", "status": "duplicate"});
    assert_eq!(results[0], first);
    assert_eq!(results[1]["error"]["code"], "key_conflict");
    assert_eq!(results[2], json!({"id": ids[0], "deliver_at": "2026-11-30T12:15:00.000Z", "status": "kept"}));
    assert_eq!((&results[3]["status"], &results[3]["replaced_id"]), (&json!("replaced"), &json!(ids[0])));

    let by_key = tourist.ask("GET", "/v1/topics/orders/keys/order%2F17", &NONE, 200).await;
    assert_eq!(by_key["id"], results[3]["id"]);
    assert_eq!((&by_key["state"], &by_key["body"]), (&json!("scheduled"), &json!("other")));
}

#[tokio::test]
async fn scheduled_messages_are_looked_at_listed_and_counted() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let ids = publish_three(&mut tourist).await;
    let by_id = tourist.ask("GET", &format!("/v1/topics/orders/messages/{}", ids[1]), &NONE, 200).await;
    assert_eq!(by_id["body_base64"], "/wD+");
    tourist.ask("GET", "/v1/topics/orders/messages/unknown", &NONE, 404).await;

    let page = tourist.ask("GET", "/v1/topics/orders/messages?state=scheduled&limit=2", &NONE, 200).await;
    let listed: Vec<_> = page["messages"].as_array().expect("messages").iter().map(|view| view["id"].clone()).collect();
    assert_eq!(listed, [json!(ids[2]), json!(ids[0])]);
    let cursor = page["next_cursor"].as_str().expect("a cursor").to_owned();
    let rest = format!("/v1/topics/orders/messages?state=scheduled&limit=2&cursor={cursor}");
    let page = tourist.ask("GET", &rest, &NONE, 200).await;
    assert_eq!(page["messages"][0]["id"], json!(ids[1]));
    let keyed = "/v1/topics/orders/messages?key_prefix=order%2F&body=false&from=0&to=2026-11-30T13:00:00Z";
    let page = tourist.ask("GET", keyed, &NONE, 200).await;
    assert_eq!((&page["messages"][0]["key"], page["messages"].as_array().map(Vec::len)), (&json!("order/17"), Some(1)));
    assert!(page["messages"][0].get("body").is_none(), "{page}");
    assert_eq!(page["messages"][0]["headers"], json!({"z": "1", "a": ""}));

    let timeline = tourist.ask("GET", "/v1/topics/orders/timeline?bucket=10m", &NONE, 200).await;
    let buckets = json!([
        {"from": "2026-11-30T12:00:00.000Z", "count": 1},
        {"from": "2026-11-30T12:10:00.000Z", "count": 1},
        {"from": "2026-11-30T12:30:00.000Z", "count": 1},
    ]);
    assert_eq!(timeline["buckets"], buckets);
}

#[tokio::test]
async fn scheduled_messages_are_moved_delivered_and_cancelled_until_they_are_due() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let ids = publish_three(&mut tourist).await;
    let moved = tourist.ask("PATCH", "/v1/topics/orders/keys/order%2F17", &json!({"delay": "40m"}), 200).await;
    assert_eq!(moved, json!({"outcome": "rescheduled", "deliver_at": "2026-11-30T12:40:00.000Z"}));
    let path = format!("/v1/topics/orders/messages/{}", ids[0]);
    tourist.ask("PATCH", &path, &json!({"deliver_at": "2026-11-30T12:20:00Z"}), 200).await;
    tourist.ask("PATCH", "/v1/topics/orders/messages/unknown", &json!({"delay": 5}), 404).await;
    let levelled = tourist.ask("PATCH", &path, &json!({"delay_level": 16}), 200).await;
    assert_eq!(levelled["deliver_at"], "2026-11-30T12:30:00.000Z", "level 16 is half an hour");
    tourist.ask("PATCH", &path, &json!({"deliver_at": "2026-11-30T12:20:00Z"}), 200).await;

    let delivered = format!("/v1/topics/orders/messages/{}/deliver", ids[2]);
    assert_eq!(tourist.ask("POST", &delivered, &NONE, 200).await, json!({"outcome": "delivered_now"}));
    tourist.ask("POST", "/v1/topics/orders/keys/none/deliver", &NONE, 404).await;
    let cancel = format!("/v1/topics/orders/messages/{}", ids[1]);
    assert_eq!(tourist.ask("DELETE", &cancel, &NONE, 200).await, json!({"outcome": "cancelled"}));
    assert_eq!(tourist.ask("DELETE", &cancel, &NONE, 200).await, json!({"outcome": "cancelled"}));
    let not_found = tourist.ask("DELETE", "/v1/topics/orders/messages/unknown", &NONE, 404).await;
    assert_eq!(not_found, json!({"outcome": "not_found"}));

    house.advance(30 * 60_000).await;
    assert_eq!(tourist.ask("DELETE", &path, &NONE, 409).await, json!({"outcome": "too_late"}));
    tourist.ask("PATCH", &path, &json!({"delay": 5}), 409).await;
    tourist.ask("POST", &format!("{path}/deliver"), &NONE, 409).await;
}

#[tokio::test]
async fn ranges_are_cancelled_and_must_be_named() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    for minute in 1..=4 {
        tourist.raw("POST", &format!("/v1/topics/r/publish?delay={minute}m"), b"x", 200).await;
    }
    tourist.ask("DELETE", "/v1/topics/r/messages", &NONE, 400).await;
    tourist.ask("DELETE", "/v1/topics/r/messages?all=true&from=0", &NONE, 400).await;
    let range = "/v1/topics/r/messages?state=scheduled&from=2026-11-30T12:02:00Z&to=2026-11-30T12:04:00Z";
    assert_eq!(tourist.ask("DELETE", range, &NONE, 200).await, json!({"cancelled": 2}));
    assert_eq!(tourist.ask("DELETE", "/v1/topics/r/messages?all=true", &NONE, 200).await, json!({"cancelled": 2}));
}

#[tokio::test]
async fn one_message_goes_from_publish_to_ack_byte_for_byte() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let path = "/v1/topics/t/publish?delay=15m&key=k&tag=t&ordering_key=o&h.x=1&h.b%20c=%C3%BC";
    let published = tourist.raw("POST", path, b"\xff\x00bytes\n", 200).await.json();
    let receive = "/v1/topics/t/subscriptions/s/receive";
    assert_eq!(tourist.ask("POST", receive, &NONE, 200).await, json!({"messages": []}));
    house.advance(15 * 60_000).await;
    let taken =
        tourist.ask("POST", receive, &json!({"max": 10, "max_bytes": 1000, "wait": "5s", "lease": "1m"}), 200).await;
    let delivery = &taken["messages"][0];
    assert_eq!(delivery["id"], published["id"]);
    assert_eq!(delivery["body_base64"], "/wBieXRlcwo=");
    assert_eq!(delivery["headers"], json!({"x": "1", "b c": "ü"}));
    assert_eq!(
        (&delivery["key"], &delivery["tag"], &delivery["ordering_key"]),
        (&json!("k"), &json!("t"), &json!("o"))
    );
    assert_eq!((&delivery["attempt"], &delivery["topic"]), (&json!(1), &json!("t")));
    assert_eq!(delivery["deliver_at"], "2026-11-30T12:15:00.000Z");
    assert_eq!(delivery["lease_expires_at"], "2026-11-30T12:16:00.000Z");
    let receipt = delivery["receipt"].clone();

    let extend = json!({"receipts": [receipt, "never given out"], "lease": "2m"});
    let extended = tourist.ask("POST", "/v1/topics/t/subscriptions/s/extend", &extend, 200).await;
    assert_eq!(extended, json!({"results": ["extended", "invalid"]}));
    let released =
        tourist.ask("POST", "/v1/topics/t/subscriptions/s/release", &json!({"receipts": [receipt]}), 200).await;
    assert_eq!(released, json!({"results": ["released"]}));

    let taken = tourist.ask("POST", receive, &json!({"wait": 5000}), 200).await;
    assert_eq!(taken["messages"][0]["attempt"], 1);
    let nack = json!({"receipts": [taken["messages"][0]["receipt"]], "delay": "10s", "error": "not yet"});
    let nacked = tourist.ask("POST", "/v1/topics/t/subscriptions/s/nack", &nack, 200).await;
    assert_eq!(nacked, json!({"results": ["retry"]}));
    house.advance(10_000).await;

    let taken = tourist.ask("POST", receive, &json!({"wait": "5s"}), 200).await;
    assert_eq!(taken["messages"][0]["attempt"], 2);
    let receipt = taken["messages"][0]["receipt"].clone();
    let ack = json!({"receipts": [receipt, receipt]});
    let acked = tourist.ask("POST", "/v1/topics/t/subscriptions/s/ack", &ack, 200).await;
    assert_eq!(acked, json!({"results": ["acked", "acked"]}));
}

#[tokio::test]
async fn a_message_that_always_fails_ends_among_the_dead_letters_with_its_history() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let settings = json!({"retry": {"max_attempts": 1}, "dead_letter_topic": "graveyard"});
    tourist.ask("PUT", "/v1/topics/t/subscriptions/s", &settings, 201).await;
    tourist.raw("POST", "/v1/topics/t/publish", b"doomed", 200).await;
    house.advance(1).await;
    let taken = tourist.ask("POST", "/v1/topics/t/subscriptions/s/receive", &json!({"wait": "5s"}), 200).await;
    let nack = json!({"receipts": [taken["messages"][0]["receipt"]], "error": "broken"});
    let nacked = tourist.ask("POST", "/v1/topics/t/subscriptions/s/nack", &nack, 200).await;
    assert_eq!(nacked, json!({"results": ["dead_lettered"]}));
    house.advance(1).await;
    let path = "/v1/topics/graveyard/subscriptions/reader/receive";
    let dead = tourist.ask("POST", path, &json!({"wait": "5s"}), 200).await;
    let history = &dead["messages"][0]["dead_letter"];
    assert_eq!(history["reason"], "attempts_exhausted");
    assert_eq!((&history["topic"], &history["subscription"]), (&json!("t"), &json!("s")));
    assert_eq!((&history["attempts"], &history["last_error"]), (&json!(1), &json!("broken")));
}

#[tokio::test]
async fn topics_subscriptions_and_namespaces_are_made_changed_listed_and_deleted() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let made = tourist.ask("PUT", "/v1/namespaces/shop", &json!({"max_delay": "7d"}), 201).await;
    assert_eq!((&made["name"], &made["max_delay_ms"]), (&json!("shop"), &json!(604_800_000)));
    let changed = json!({"max_delay_ms": null, "delay_levels": ["5s", 10_000], "auto_create": true});
    let changed = tourist.ask("PUT", "/v1/namespaces/shop", &changed, 200).await;
    assert_eq!((&changed["max_delay_ms"], &changed["delay_levels_ms"]), (&NONE, &json!([5000, 10_000])));
    tourist.ask("GET", "/v1/namespaces/shop", &NONE, 200).await;
    let namespaces = tourist.ask("GET", "/v1/namespaces?limit=1", &NONE, 200).await;
    assert_eq!(namespaces["namespaces"][0]["name"], "default");

    let topic = "/v1/namespaces/shop/topics/orders";
    let made = tourist.ask("PUT", topic, &json!({"partitions": 2, "dedup_window": "1m"}), 201).await;
    assert_eq!((&made["partitions"], &made["dedup_window_ms"]), (&json!(2), &json!(60_000)));
    tourist.ask("PUT", topic, &json!({"dedup_window": null}), 200).await;
    let fixed = tourist.ask("PUT", topic, &json!({"partitions": 3}), 409).await;
    assert_eq!(fixed["error"]["code"], "setting_fixed");
    let read = tourist.ask("GET", topic, &NONE, 200).await;
    assert_eq!((&read["dedup_window_ms"], &read["stats"]["scheduled"]), (&json!(600_000), &json!(0)));
    let topics = tourist.ask("GET", "/v1/namespaces/shop/topics", &NONE, 200).await;
    assert_eq!(topics["topics"][0]["name"], "orders");
    assert_eq!(tourist.ask("GET", "/v1/topics", &NONE, 200).await["topics"], json!([]));

    let subscription = format!("{topic}/subscriptions/closer");
    let made = tourist.ask("PUT", &subscription, &json!({"lease": "1m", "retry": {"initial": "2s"}}), 201).await;
    assert_eq!((&made["lease_ms"], &made["retry"]["initial_ms"]), (&json!(60_000), &json!(2000)));
    assert_eq!(made["dead_letter_topic"], "orders.closer.dead");
    // What was answered can be edited and sent back as it is.
    assert_eq!(tourist.ask("PUT", &subscription, &made, 200).await, made);
    for path in [topic, "/v1/namespaces/shop"] {
        let read = tourist.ask("GET", path, &NONE, 200).await;
        assert_eq!(tourist.ask("PUT", path, &read, 200).await, read);
    }
    tourist.ask("GET", &subscription, &NONE, 200).await;
    let listed = tourist.ask("GET", &format!("{topic}/subscriptions"), &NONE, 200).await;
    assert_eq!(listed["subscriptions"][0]["name"], "closer");

    assert_eq!(tourist.ask("POST", &format!("{subscription}/pause"), &NONE, 200).await, json!({"outcome": "paused"}));
    assert_eq!(tourist.ask("GET", &subscription, &NONE, 200).await["paused"], true);
    assert_eq!(tourist.ask("POST", &format!("{subscription}/resume"), &NONE, 200).await, json!({"outcome": "resumed"}));
    for to in [json!("earliest"), json!("latest"), json!("2026-11-30T12:00:00Z"), json!(0)] {
        tourist.ask("POST", &format!("{subscription}/seek"), &json!({"to": to}), 200).await;
    }

    assert_eq!(tourist.ask("DELETE", &subscription, &NONE, 200).await, json!({"outcome": "deleted"}));
    tourist.ask("GET", &subscription, &NONE, 404).await;
    tourist.ask("DELETE", topic, &NONE, 200).await;
    tourist.ask("GET", topic, &NONE, 404).await;
    tourist.ask("DELETE", "/v1/namespaces/shop", &NONE, 200).await;
    tourist.ask("GET", "/v1/namespaces/shop", &NONE, 404).await;
    let kept = tourist.ask("DELETE", "/v1/namespaces/default", &NONE, 409).await;
    assert_eq!(kept["error"]["code"], "namespace_in_use");
}

#[tokio::test]
async fn the_clock_is_read_and_moved() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    let clock = tourist.ask("GET", "/v1/clock", &NONE, 200).await;
    assert_eq!((&clock["now"], &clock["mode"]), (&json!("2026-11-30T12:00:00.000Z"), &json!("manual")));
    let clock = tourist.ask("POST", "/v1/clock/advance", &json!({"by": "1h30m"}), 200).await;
    assert_eq!(clock["now"], "2026-11-30T13:30:00.000Z");
    tourist.ask("POST", "/v1/clock/advance", &json!({"by": -1}), 400).await;
    // Whether a manual clock may be accepted is the broker's to say; the answer has a known form.
    let answer = tourist.wire.ask("POST", "/v1/clock/accept", "").await;
    tourist.document.check_answer("POST", "/v1/clock/accept", &answer);
}

#[tokio::test]
async fn the_pages_around_the_broker_answer() {
    let house = House::open().await;
    let mut tourist = Tourist::of(&house).await;
    assert_eq!(tourist.ask("GET", "/healthz", &NONE, 200).await, json!({"status": "alive"}));
    assert_eq!(tourist.ask("GET", "/readyz", &NONE, 200).await, json!({"status": "ready"}));
    let home = tourist.raw("GET", "/", b"", 200).await;
    assert!(home.text().contains("/openapi.json"));
    for code in Code::ALL {
        let page = tourist.raw("GET", &format!("/docs/errors/{}", code.slug()), b"", 200).await;
        assert!(page.text().starts_with(&format!("# {}", code.slug())));
    }
    tourist.ask("GET", "/docs/errors/unknown", &NONE, 404).await;
    let metrics = tourist.raw("GET", "/metrics", b"", 200).await.text();
    assert!(metrics.contains("http_requests_total{call=\"error_page\",code=\"ok\"}"), "{metrics}");
    assert!(metrics.contains("http_requests_total{call=\"error_page\",code=\"route_not_found\"} 1"), "{metrics}");
}
