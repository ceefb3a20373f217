//! The HTTP door before a broker that cannot be reached, panics, or answers by a script: what no
//! real broker does on demand.

#[path = "http/document.rs"]
#[allow(dead_code, reason = "shared with the other tests of this door")]
mod document;
#[path = "http/failing.rs"]
mod failing;
#[path = "http/schema.rs"]
mod schema;
#[path = "http/wire.rs"]
#[allow(dead_code, reason = "shared with the other tests of this door")]
mod wire;

use std::{net::SocketAddr, sync::Arc};

use document::Document;
use failing::Failing;
use punctual_broker_api::Access;
use punctual_gateway_http::{HttpGateway, HttpMetrics};
use punctual_types::limits::REDRIVE_IDS_MAX;
use serde_json::json;
use tokio::{net::TcpListener, sync::Semaphore};
use wire::Wire;

async fn open() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let gateway = HttpGateway {
        broker: Arc::new(Failing),
        access: Access::default(),
        connections: Arc::new(Semaphore::new(10)),
        metrics_page: Arc::new(String::new),
        metrics: HttpMetrics::default(),
    };
    tokio::spawn(gateway.serve(listener, std::future::pending()));
    address
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached_is_503_with_a_time_to_retry() {
    let mut wire = Wire::connect(open().await).await;
    for (method, path) in [
        ("POST", "/v1/topics/t/publish"),
        ("POST", "/v1/topics/t/subscriptions/s/receive"),
        ("DELETE", "/v1/topics/t/keys/k"),
        ("GET", "/v1/clock"),
    ] {
        let answer = wire.ask(method, path, "").await;
        assert_eq!((answer.status, answer.fault().0.as_str()), (503, "unreachable"), "{method} {path}");
        assert_eq!(answer.header("retry-after"), Some("2"), "1500 ms, rounded up");
        assert_eq!(answer.json()["error"]["retry_after_ms"], 1500);
    }
}

#[tokio::test]
async fn lines_that_could_not_be_published_are_told_so_one_by_one() {
    let mut wire = Wire::connect(open().await).await;
    wire.headers.push(("content-type".to_owned(), "application/x-ndjson".to_owned()));
    let answer = wire.post("/v1/topics/t/messages", "{}\n{}\n\n{}").await;
    let codes = answer.text().matches("\"code\":\"unreachable\"").count();
    assert_eq!((answer.status, answer.text().lines().count(), codes), (200, 3, 3));
}

#[tokio::test]
async fn a_panic_is_a_500_of_one_request_and_the_connection_goes_on() {
    let mut wire = Wire::connect(open().await).await;
    let answer = wire.get("/v1/topics/t").await;
    assert_eq!((answer.status, answer.fault().0.as_str()), (500, "internal"));
    assert!(!answer.text().contains("asked about"), "what went wrong inside is for the log");
    assert_eq!(wire.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_failed_broker_is_alive_and_not_ready() {
    let mut wire = Wire::connect(open().await).await;
    assert_eq!(wire.get("/healthz").await.status, 200);
    let answer = wire.get("/readyz").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json(), serde_json::json!({"status": "failed", "reason": "the journal could not be synced"}));
}

#[tokio::test]
async fn a_settled_message_answers_what_became_of_it_and_whether_that_was_asked_for() {
    let mut wire = Wire::connect(open().await).await;
    let document = Document::fetch(&mut wire).await;
    let committed = json!({"outcome": "committed", "deliver_at": "1970-01-01T00:00:00.000Z"});
    let rolled_back = json!({"outcome": "rolled_back"});
    let not_found = json!({"outcome": "not_found"});
    for (path, status, expected) in [
        ("/v1/topics/t/messages/committed/commit", 200, &committed),
        ("/v1/topics/t/messages/rolled-back/commit", 409, &rolled_back),
        ("/v1/topics/t/messages/unknown/commit", 404, &not_found),
        ("/v1/namespaces/n/topics/t/messages/rolled-back/rollback", 200, &rolled_back),
        ("/v1/namespaces/n/topics/t/messages/committed/rollback", 409, &committed),
        ("/v1/namespaces/n/topics/t/messages/unknown/rollback", 404, &not_found),
    ] {
        let answer = wire.post(path, "").await;
        assert_eq!((answer.status, &answer.json()), (status, expected), "{path}");
        document.check_answer("POST", path, &answer);
    }
}

#[tokio::test]
async fn a_subscription_is_looked_into_and_its_dead_letters_are_given_back() {
    let mut wire = Wire::connect(open().await).await;
    let document = Document::fetch(&mut wire).await;
    let path = "/v1/topics/t/subscriptions/s/messages";
    for (query, expected) in [
        ("", json!("ready 100 None")),
        ("?state=ready&body=true", json!("ready 100 None")),
        ("?state=leased&limit=5", json!("leased 5 None")),
        ("?state=retrying&cursor=x", json!("retrying 100 Some(\"x\")")),
        ("?state=dead&body=false", json!(null)),
    ] {
        let path = format!("{path}{query}");
        let answer = wire.get(&path).await;
        let page = answer.json();
        assert_eq!((answer.status, &page["messages"][0]["body"]), (200, &expected), "{page}");
        assert_eq!(page["next_cursor"], "next");
        document.check_answer("GET", &path, &answer);
    }
    let view = wire.get(path).await.json()["messages"][0].clone();
    let progress = &view["subscriptions"];
    assert_eq!(progress[1]["lease_expires_at"], "1970-01-01T00:00:00.000Z");
    assert_eq!(
        (&progress[2]["state"], &progress[2]["retry_at"]),
        (&json!("retrying"), &json!("9999-12-31T23:59:59.999Z"))
    );
    assert_eq!(view["dead_letter"]["reason"], "expired");

    let path = "/v1/topics/t/subscriptions/s/redrive";
    for (body, redriven) in [
        ("", 77),
        ("{}", 77),
        (r#"{"max":5}"#, 5),
        (r#"{"ids":[]}"#, 0),
        (r#"{"ids":["a","b"],"max":null}"#, 2),
        (r#"{"from":"1970-01-01T00:00:00.009Z","to":10}"#, 9),
    ] {
        document.check_request("POST", path, body.as_bytes());
        let answer = wire.post(path, body).await;
        assert_eq!((answer.status, answer.json()), (200, json!({"redriven": redriven})), "{body}");
        document.check_answer("POST", path, &answer);
    }
    let many = format!(r#"{{"ids":[{}]}}"#, vec![r#""i""#; REDRIVE_IDS_MAX + 1].join(","));
    assert_eq!(wire.post(path, &many).await.fault(), ("batch_too_large".to_owned(), Some("ids".to_owned())));
}
