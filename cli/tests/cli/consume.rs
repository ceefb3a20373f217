//! `consume`: prints, looks, or hands each message to a command.

use std::fs;

use serde_json::Value;

use crate::support::{Server, text};

async fn publish(server: &Server, bodies: &[&str]) {
    for body in bodies {
        server.text(&["publish", "orders", body, "--tag", "t", "-H", "who=me"]).await;
    }
}

#[tokio::test]
async fn messages_are_acked_once_they_are_printed() {
    let server = Server::manual().await;
    server.text(&["sub", "set", "orders", "other"]).await;
    publish(&server, &["one", "two", "three"]).await;
    assert_eq!(server.text(&["consume", "orders", "-s", "a", "--max", "2"]).await, "one\ntwo\n");
    assert_eq!(server.text(&["consume", "orders", "-s", "a"]).await, "three\n");
    assert_eq!(server.text(&["consume", "orders", "-s", "a"]).await, "");
    assert_eq!(server.text(&["consume", "orders", "-s", "other"]).await, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn looking_leaves_every_message_at_its_place_with_its_attempt() {
    let server = Server::manual().await;
    publish(&server, &["one", "two"]).await;
    for _ in 0..2 {
        let seen = server.json(&["consume", "orders", "-s", "a", "--no-ack"]).await;
        let bodies: Vec<&Value> = seen.iter().map(|object| &object["body"]).collect();
        assert_eq!(bodies, ["one", "two"]);
        assert!(seen.iter().all(|object| object["attempt"] == 1), "{seen:?}");
    }
}

#[tokio::test]
async fn with_json_a_delivery_is_one_object_with_every_field() {
    let server = Server::manual().await;
    server
        .text(&["publish", "orders", "späte Zahlung", "--key", "42", "--tag", "t", "-H", "who=me", "--delay", "5s"])
        .await;
    server.text(&["clock", "advance", "7s"]).await;
    let object = server.json(&["consume", "orders", "-s", "a"]).await.remove(0);
    for (field, expected) in [
        ("topic", Value::from("orders")),
        ("body", "späte Zahlung".into()),
        ("key", "42".into()),
        ("tag", "t".into()),
        ("attempt", 1.into()),
        ("priority", 0.into()),
        ("published_at", "2030-01-01T00:00:00.000Z".into()),
        ("deliver_at", "2030-01-01T00:00:05.000Z".into()),
        ("delivered_at", "2030-01-01T00:00:07.000Z".into()),
    ] {
        assert_eq!(object[field], expected, "{field}");
    }
    assert_eq!(object["headers"]["who"], "me");
    assert!(object["id"].is_string() && object["receipt"].is_string(), "{object}");
}

#[tokio::test]
async fn a_body_that_is_not_text_is_printed_byte_for_byte_and_as_base64_in_json() {
    let server = Server::manual().await;
    let input = b"{\"body_base64\":\"/wD+\"}\n{\"body_base64\":\"/wD+\"}\n";
    assert_eq!(server.run_with(&["publish", "orders", "--lines", "-"], input).await.code, 0);
    let object = server.json(&["consume", "orders", "-s", "a", "--max", "1"]).await.remove(0);
    assert_eq!(object["body_base64"], "/wD+");
    assert!(object.get("body").is_none(), "{object}");
    let mut command = crate::support::punctual();
    command.args(["consume", "orders", "-s", "a", "--server", &server.grpc]);
    let output = command.output().await.expect("output");
    assert_eq!(output.stdout, b"\xff\0\xfe\n");
}

#[tokio::test]
async fn a_command_that_succeeds_acks_and_one_that_fails_nacks_with_its_status() {
    let server = Server::manual().await;
    server
        .text(&["sub", "set", "orders", "a", "--max-attempts", "2", "--retry-initial", "10s", "--retry-jitter", "0"])
        .await;
    publish(&server, &["good", "bad"]).await;
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("log");
    let script = format!(
        "read -r body; echo \"$body $PUNCTUAL_TOPIC $PUNCTUAL_ATTEMPT $PUNCTUAL_TAG ${{PUNCTUAL_KEY-none}}\" >> {}; [ \"$body\" = good ] || exit 3",
        text(&log)
    );
    let args = ["consume", "orders", "-s", "a", "--exec", &script];
    let mut outcomes = server.json(&args).await;
    outcomes.sort_by_key(|object| object["exit_status"].as_i64());
    assert_eq!((&outcomes[0]["exit_status"], &outcomes[0]["outcome"]), (&Value::from(0), &Value::from("acked")));
    assert_eq!((&outcomes[1]["exit_status"], &outcomes[1]["outcome"]), (&Value::from(3), &Value::from("retry")));
    assert_eq!(server.json(&args).await.len(), 0, "not before its back-off");
    server.text(&["clock", "advance", "11s"]).await;
    let outcomes = server.json(&args).await;
    assert_eq!(outcomes[0]["outcome"], "dead_lettered", "{outcomes:?}");
    let said = fs::read_to_string(&log).expect("the command ran");
    assert_eq!(said, "good orders 1 t none\nbad orders 1 t none\nbad orders 2 t none\n");
    let dead = server.json(&["consume", "orders.a.dead", "-s", "d"]).await;
    assert_eq!(dead[0]["body"], "bad");
    assert_eq!(dead[0]["dead_letter"]["last_error"], "command ended with exit status: 3");
}

#[tokio::test]
async fn commands_run_side_by_side_when_asked_to() {
    let server = Server::manual().await;
    publish(&server, &["1", "2", "3"]).await;
    let directory = tempfile::tempdir().expect("a directory");
    // Each command waits until three have come, which only happens when they run at once.
    let script = format!(
        "cd {}; touch $PUNCTUAL_ID; while [ $(ls | wc -l) -lt 3 ]; do sleep 0.02; done",
        text(directory.path())
    );
    let args = ["consume", "orders", "-s", "a", "--exec", &script, "--concurrency", "3"];
    let outcomes = server.json(&args).await;
    assert_eq!(outcomes.iter().filter(|object| object["outcome"] == "acked").count(), 3, "{outcomes:?}");
}
