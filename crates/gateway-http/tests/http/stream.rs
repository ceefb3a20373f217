//! Publishing lines: results come while lines still arrive, in order, and faults stay with theirs.

use serde_json::Value;

use crate::{house::House, wire::Wire};

async fn open(house: &House, path: &str) -> Wire {
    let mut wire = house.connect().await;
    let head = wire.head("POST", path);
    let head = format!("{head}content-type: application/x-ndjson; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
    wire.send(head.as_bytes()).await;
    wire
}

async fn results(wire: &mut Wire) -> Vec<Value> {
    let chunk = wire.chunk().await.expect("results");
    let text = String::from_utf8(chunk).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn a_result_arrives_before_the_next_line_is_sent() {
    let house = House::open().await;
    let mut wire = open(&house, "/v1/topics/t/messages").await;
    wire.send_chunk(b"{\"body\":\"1\",\"delay\":\"1m\"}\n{\"bo").await;
    let head = wire.answer_head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("application/x-ndjson")));
    let first = results(&mut wire).await;
    assert_eq!((first.len(), &first[0]["status"]), (1, &Value::from("accepted")));
    wire.send_chunk(b"dy\":\"2\"}\n").await;
    assert_eq!(results(&mut wire).await[0]["status"], "accepted");
    // The last line needs no end of its own.
    wire.send_chunk(b"{\"body\":\"3\"}").await;
    wire.send_chunk(b"").await;
    assert_eq!(results(&mut wire).await[0]["status"], "accepted");
    assert_eq!(wire.chunk().await, None);
    // The connection is as good as new.
    let topic = wire.get("/v1/topics/t").await.json();
    assert_eq!(topic["stats"]["published_total"], 3);
}

#[tokio::test]
async fn thousands_of_lines_are_answered_in_order_and_faults_in_their_places() {
    const LINES: usize = 5000;
    let house = House::open().await;
    let mut wire = house.connect().await;
    wire.headers.push(("content-type".to_owned(), "application/x-ndjson".to_owned()));
    let mut body = String::new();
    for line in 0..LINES {
        match line % 50 {
            7 => body.push_str("{\"nonsense\":1}\n"),
            8 => body.push_str("not json\n"),
            _ => body.push_str(&format!("{{\"body\":\"{line}\",\"delay\":{}}}\n", line + 1)),
        }
    }
    let answer = wire.post("/v1/topics/t/messages", body).await;
    let text = answer.text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), LINES);
    let mut before = String::new();
    for (at, line) in lines.iter().enumerate() {
        match at % 50 {
            7 => assert_eq!(line["error"]["field"], "nonsense", "{line}"),
            8 => assert_eq!(line["error"]["code"], "malformed_request", "{line}"),
            _ => {
                // Due times rise with the lines, so results out of order would show.
                let due = line["deliver_at"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
                assert!(due > before, "{due} after {before}");
                before = due;
            }
        }
    }
    let topic = house.connect().await.get("/v1/topics/t").await.json();
    assert_eq!(topic["stats"]["published_total"], LINES - 200);
}

#[tokio::test]
async fn a_line_over_the_limit_fails_alone() {
    let house = House::open().await;
    let mut wire = open(&house, "/v1/topics/t/messages").await;
    wire.send_chunk(b"{\"body\":\"").await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..8 {
        wire.send_chunk(&piece).await;
    }
    wire.send_chunk(b"\"}\n{\"body\":\"ok\"}\n").await;
    wire.send_chunk(b"").await;
    let answer = wire.answer().await;
    let lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["error"]["code"], "body_too_large");
    assert_eq!(lines[1]["status"], "accepted");
}

#[tokio::test]
async fn a_stream_that_breaks_off_publishes_its_whole_lines_and_no_half_one() {
    let house = House::open().await;
    let mut wire = open(&house, "/v1/topics/t/messages").await;
    wire.send_chunk(b"{\"body\":\"whole\"}\n").await;
    assert_eq!(wire.answer_head().await.status, 200);
    assert_eq!(results(&mut wire).await[0]["status"], "accepted");
    // Would be a message if it were taken for the last line.
    wire.send_chunk(b"{\"body\":\"half\"}").await;
    drop(wire);
    house.all_gone().await;
    let topic = house.connect().await.get("/v1/topics/t").await.json();
    assert_eq!(topic["stats"]["published_total"], 1);
}

#[tokio::test]
async fn a_stream_to_a_bad_name_is_refused_before_its_first_line() {
    let house = House::open().await;
    let mut wire = house.connect().await;
    wire.headers.push(("content-type".to_owned(), "application/x-ndjson".to_owned()));
    assert_eq!(wire.post("/v1/topics/a%20b/messages", "{}\n").await.fault().0, "invalid_name");
    let mut wire = house.connect().await;
    wire.headers.push(("content-type".to_owned(), "application/x-ndjson".to_owned()));
    assert_eq!(wire.post("/v1/topics/t/messages?x=1", "{}\n").await.fault().1.as_deref(), Some("x"));
}

#[tokio::test]
async fn a_stream_ends_with_a_reason_when_the_door_stops() {
    let mut house = House::open().await;
    let mut wire = open(&house, "/v1/topics/t/messages").await;
    wire.send_chunk(b"{\"body\":\"1\"}\n").await;
    wire.answer_head().await;
    results(&mut wire).await;
    house.stop();
    assert_eq!(results(&mut wire).await[0]["error"]["code"], "shutting_down");
    assert_eq!(wire.chunk().await, None);
    house.closed().await;
}
