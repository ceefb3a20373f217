//! The HTTP door before a broker that cannot be reached, and one that panics: what no real broker
//! does on demand.

#[path = "http/failing.rs"]
mod failing;
#[path = "http/wire.rs"]
#[allow(dead_code, reason = "shared with the other tests of this door")]
mod wire;

use std::{net::SocketAddr, sync::Arc};

use failing::Failing;
use punctual_broker_api::Access;
use punctual_gateway_http::{HttpGateway, HttpMetrics};
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
