//! Tokens, sizes, stalls, too many connections, peers that go away, and the stop.

use std::time::Duration;

use punctual_broker_api::{Access, Limits};
use serde_json::json;

use crate::{house::House, wire::Wire};

fn small() -> Limits {
    Limits { body_bytes_max: 1000, batch_bytes_max: 3000, connections_max: 3, ..Limits::default() }
}

#[tokio::test]
async fn a_token_opens_every_call_and_its_lack_all_but_health_and_error_pages() {
    let house = House::with(Limits::default(), Access::new(vec!["secret".to_owned()])).await;
    let mut wire = house.connect().await;
    for path in ["/healthz", "/readyz", "/docs/errors/token_missing"] {
        assert_eq!(wire.get(path).await.status, 200, "{path}");
    }
    for path in ["/", "/metrics", "/openapi.json", "/v1/topics", "/v1/clock", "/nowhere"] {
        let refused = wire.get(path).await;
        assert_eq!((refused.status, refused.fault().0.as_str()), (401, "token_missing"), "{path}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(wire.post("/v1/topics/t/publish", "x").await.status, 401);
    wire.headers.push(("authorization".to_owned(), "Bearer wrong".to_owned()));
    assert_eq!(wire.get("/v1/topics").await.fault().0, "token_unknown");
    wire.headers[0].1 = "bearer secret".to_owned();
    assert_eq!(wire.get("/v1/topics").await.json(), json!({"topics": [], "next_cursor": null}));
    assert_eq!(wire.get("/nowhere").await.status, 404);
}

#[tokio::test]
async fn a_sane_request_id_comes_back_and_another_is_replaced() {
    let house = House::open().await;
    let mut wire = house.connect().await;
    wire.headers.push(("x-request-id".to_owned(), "web/17".to_owned()));
    let answer = wire.get("/nowhere").await;
    assert_eq!(answer.header("x-request-id"), Some("web/17"));
    assert_eq!(answer.json()["error"]["request_id"], "web/17");
    wire.headers[0].1 = "a b".to_owned();
    let made = wire.get("/healthz").await.header("x-request-id").expect("an id").to_owned();
    assert_eq!(made.len(), 16);
    assert_ne!(wire.get("/healthz").await.header("x-request-id"), Some(made.as_str()));
}

#[tokio::test]
async fn a_page_of_somebody_elses_reaches_nothing() {
    let house = House::open().await;
    let mut wire = house.connect().await;
    for (path, status) in [("/v1/topics", 403), ("/metrics", 403), ("/healthz", 200)] {
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: evil.example:7800\r\n\r\n").as_bytes()).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, status, "{path} under a name that leads here: {}", answer.text());
    }
    wire.headers.push(("origin".to_owned(), "https://evil.example".to_owned()));
    let refused = wire.post("/v1/topics/t/publish", "x").await;
    assert_eq!((refused.status, refused.fault().0.as_str()), (403, "origin_not_allowed"));
    wire.headers[0].1 = "http://localhost".to_owned();
    assert_eq!(wire.get("/v1/topics").await.json()["topics"], json!([]), "nothing was made, and our own page may ask");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_its_announced_length_before_it_is_sent() {
    let house = House::with(small(), Access::default()).await;
    for (path, length, code, field) in [
        ("/v1/topics/t/publish", 1001, "body_too_large", Some("body")),
        ("/v1/topics/t/messages", 64 << 20, "batch_too_large", Some("messages")),
        ("/v1/topics/t/subscriptions/s/ack", 64 << 20, "batch_too_large", None),
        ("/v1/topics/t/publish", u64::MAX / 4, "body_too_large", Some("body")),
    ] {
        let mut wire = house.connect().await;
        let head = wire.head("POST", path);
        // Not a byte of the body is sent: the answer cannot have waited for it.
        wire.send(format!("{head}content-length: {length}\r\n\r\n").as_bytes()).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (413, Some("close")), "{path}");
        assert_eq!(answer.fault(), (code.to_owned(), field.map(str::to_owned)));
        assert!(wire.is_closed().await);
    }
    assert_eq!(house.connect().await.get("/v1/topics").await.json()["topics"], json!([]));
}

#[tokio::test]
async fn a_body_of_no_announced_length_is_refused_at_the_first_byte_too_many() {
    let house = House::with(small(), Access::default()).await;
    let mut wire = house.connect().await;
    let head = wire.head("POST", "/v1/topics/t/publish");
    wire.send(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).await;
    wire.send_chunk(&[b'x'; 1000]).await;
    wire.send_chunk(b"y").await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.fault().0.as_str()), (413, "body_too_large"));
}

#[tokio::test]
async fn a_body_at_the_limit_is_taken() {
    let house = House::with(small(), Access::default()).await;
    let mut wire = house.connect().await;
    assert_eq!(wire.post("/v1/topics/t/publish", [b'x'; 1000]).await.status, 200);
    let batch = json!({"messages": [{"body": "x".repeat(1001)}, {"body": "x".repeat(1000)}]}).to_string();
    let results = wire.post("/v1/topics/t/messages", batch).await.json();
    assert_eq!(results["results"][0]["error"]["code"], "body_too_large");
    assert_eq!(results["results"][0]["error"]["field"], "body");
    assert_eq!(results["results"][1]["status"], "accepted");
}

#[tokio::test]
async fn a_connection_too_many_is_told_so_and_has_room_once_another_goes() {
    let house = House::with(small(), Access::default()).await;
    let mut wires = Vec::new();
    for _ in 0..3 {
        let mut wire = house.connect().await;
        assert_eq!(wire.get("/healthz").await.status, 200);
        wires.push(wire);
    }
    let mut refused = house.connect().await;
    let answer = refused.get("/healthz").await;
    assert_eq!((answer.status, answer.fault().0.as_str()), (429, "too_many_connections"));
    assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("1"), Some("close")));
    assert!(refused.is_closed().await);
    assert_eq!(wires[0].get("/healthz").await.status, 200, "the others go on");
    wires.clear();
    house.all_gone().await;
    assert_eq!(house.connect().await.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_receive_whose_client_goes_away_takes_nothing() {
    let house = House::open().await;
    let mut wire = house.connect().await;
    let receive = "/v1/topics/t/subscriptions/s/receive";
    assert_eq!(wire.post(receive, "").await.json(), json!({"messages": []}));
    let body = r#"{"wait":"60s"}"#;
    let head = wire.head("POST", receive);
    wire.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    drop(wire);
    house.all_gone().await;
    let mut wire = house.connect().await;
    assert_eq!(wire.post("/v1/topics/t/publish", "x").await.status, 200);
    house.advance(1).await;
    let taken = wire.post(receive, r#"{"wait":"5s"}"#).await.json();
    assert_eq!(taken["messages"][0]["attempt"], 1, "{taken}");
}

#[tokio::test]
async fn a_waiting_receive_is_answered_by_a_publish_on_another_connection() {
    let house = House::open().await;
    let (mut consumer, mut producer) = (house.connect().await, house.connect().await);
    let body = r#"{"wait":"60s"}"#;
    let head = consumer.head("POST", "/v1/topics/t/subscriptions/s/receive");
    consumer.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    assert_eq!(producer.post("/v1/topics/t/publish?delay=15m", "x").await.status, 200);
    house.advance(15 * 60_000).await;
    let taken = consumer.answer().await.json();
    assert_eq!((&taken["messages"][0]["body"], &taken["messages"][0]["lateness_ms"]), (&json!("x"), &json!(0)));
}

#[tokio::test]
async fn a_stop_answers_what_waits_and_closes_what_idles() {
    let mut house = House::open().await;
    let (mut waiting, mut idle) = (house.connect().await, house.connect().await);
    assert_eq!(idle.get("/healthz").await.status, 200);
    let receive = "/v1/topics/t/subscriptions/s/receive";
    assert_eq!(waiting.post(receive, "").await.status, 200);
    let body = r#"{"wait":"60s"}"#;
    let head = waiting.head("POST", receive);
    waiting.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    house.in_flight().await;
    house.stop();
    assert_eq!(waiting.answer().await.json(), json!({"messages": []}));
    assert!(idle.is_closed().await && waiting.is_closed().await);
    house.closed().await;
}

#[tokio::test]
async fn what_is_not_http_is_answered_with_400_and_closed() {
    let house = House::open().await;
    for garbage in [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..], b"GET\r\n\r\n"] {
        let mut wire = house.connect().await;
        wire.send(garbage).await;
        assert_eq!(wire.answer().await.status, 400);
        assert!(wire.is_closed().await);
    }
    let mut wire = house.connect().await;
    let head = wire.head("GET", "/healthz");
    wire.send(format!("{head}x: {}\r\n\r\n", "x".repeat(256 << 10)).as_bytes()).await;
    assert_eq!(wire.answer().await.status, 431);
}

// In these the runtime's own clock stands still and jumps to the next timer whenever nothing else
// is to be done, so that a minute of silence passes at once.

async fn patient(house: &House) -> Wire {
    let mut wire = house.connect().await;
    wire.patience = Duration::from_secs(24 * 3600);
    wire
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_drips_its_headers_or_idles_is_closed() {
    let house = House::open().await;
    let mut wire = patient(&house).await;
    wire.send(b"GET /healthz HTTP/1.1\r\nhost: te").await;
    assert!(wire.is_closed().await);
    let mut wire = patient(&house).await;
    assert_eq!(wire.get("/healthz").await.status, 200);
    assert!(wire.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stands_still_is_given_up() {
    let house = House::open().await;
    let mut wire = patient(&house).await;
    let head = wire.head("POST", "/v1/topics/t/publish");
    wire.send(format!("{head}content-length: 10\r\n\r\nhalf").as_bytes()).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.fault().0.as_str()), (400, "malformed_request"));
    assert!(wire.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_lines_that_stands_still_is_ended_with_a_reason() {
    let house = House::open().await;
    let mut wire = patient(&house).await;
    let head = wire.head("POST", "/v1/topics/t/messages");
    let head = format!("{head}content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n");
    wire.send(head.as_bytes()).await;
    let answer = wire.answer().await;
    assert_eq!(answer.fault().0, "malformed_request");
    assert!(answer.text().contains("stood still"));
}
