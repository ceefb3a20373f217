//! Every other command in both of its forms, on a clock that stands still.

use serde_json::{Value, json};

use crate::support::Server;

fn id(published: &str) -> String {
    published.split_whitespace().next().expect("an id").to_owned()
}

#[tokio::test]
async fn publishing_prints_the_id_the_status_and_the_due_time() {
    let server = Server::manual().await;
    let line = server.text(&["publish", "orders", "x", "--delay", "15m"]).await;
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1..], ["accepted", "2030-01-01T00:15:00.000Z"]);
    let object = server.json(&["publish", "orders", "x", "--at", "2031-01-01T00:00:00Z"]).await.remove(0);
    assert_eq!((&object["status"], &object["deliver_at"]), (&json!("accepted"), &json!("2031-01-01T00:00:00.000Z")));
    let object = server.json(&["publish", "orders", "x", "--level", "4"]).await.remove(0);
    assert_eq!(object["deliver_at"], "2030-01-01T00:00:30.000Z");
    let piped = server.run_with(&["publish", "orders", "-", "--key", "k", "--delay", "1h"], b"from a pipe\n").await;
    assert_eq!(piped.code, 0, "{piped:?}");
    let view = server.json(&["get", "orders", "--key", "k"]).await.remove(0);
    assert_eq!(view["body"], "from a pipe\n");
}

#[tokio::test]
async fn keys_and_dedup_ids_are_honoured() {
    let server = Server::manual().await;
    let first = id(&server.text(&["publish", "orders", "1", "--key", "k", "--delay", "1h"]).await);
    let said = server.run(&["publish", "orders", "2", "--key", "k", "--delay", "1h"]).await;
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.stderr.contains("key_conflict"), "{said:?}");
    let args = ["publish", "orders", "2", "--key", "k", "--delay", "2h", "--on-conflict"];
    let kept = server.json(&[&args[..], &["keep"]].concat()).await.remove(0);
    assert_eq!((&kept["status"], &kept["id"]), (&json!("kept"), &json!(first)));
    let replaced = server.json(&[&args[..], &["replace"]].concat()).await.remove(0);
    assert_eq!((&replaced["status"], &replaced["replaced_id"]), (&json!("replaced"), &json!(first)));
    let args = ["publish", "orders", "3", "--dedup-id", "d", "--delay", "1h"];
    let stored = server.json(&args).await.remove(0);
    let again = server.json(&args).await.remove(0);
    assert_eq!((&again["status"], &again["id"]), (&json!("duplicate"), &stored["id"]));
}

#[tokio::test]
async fn a_message_is_shown_moved_delivered_and_cancelled_by_id_and_by_key() {
    let server = Server::manual().await;
    let first = id(&server.text(&["publish", "orders", "late\tpayment", "--delay", "15m", "-H", "a=b"]).await);
    let shown = server.text(&["get", "orders", &first]).await;
    for part in
        ["state         scheduled", "deliver_at    2030-01-01T00:15:00.000Z", "header        a=b", "late\\tpayment"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let moved = server.text(&["reschedule", "orders", &first, "--delay", "5m"]).await;
    assert_eq!(moved, "rescheduled to 2030-01-01T00:05:00.000Z\n");
    let object = server.json(&["reschedule", "orders", &first, "--at", "2030-01-01T00:06:00Z"]).await.remove(0);
    assert_eq!(object, json!({"outcome": "rescheduled", "deliver_at": "2030-01-01T00:06:00.000Z"}));
    assert_eq!(server.text(&["cancel", "orders", &first]).await, "cancelled\n");
    assert_eq!(server.json(&["cancel", "orders", &first]).await, [json!({"outcome": "cancelled"})], "asked again");

    server.text(&["publish", "orders", "now", "--key", "k", "--delay", "1h"]).await;
    assert_eq!(server.text(&["deliver", "orders", "--key", "k"]).await, "delivered_now\n");
    let said = server.run(&["cancel", "orders", "--key", "k", "--json"]).await;
    assert_eq!((said.code, said.object()), (4, json!({"outcome": "too_late"})));
    let said = server.run(&["reschedule", "orders", "--key", "nobody", "--delay", "1s"]).await;
    assert_eq!((said.code, said.stdout.as_str()), (4, "not_found\n"));
    let said = server.run(&["get", "orders", "nonsense"]).await;
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("message_not_found"), "{said:?}");
}

#[tokio::test]
async fn what_is_scheduled_is_listed_in_due_order_and_counted() {
    let server = Server::manual().await;
    for (body, delay) in [("c", "3m"), ("a", "30s"), ("b", "90s")] {
        server.text(&["publish", "orders", body, "--delay", delay, "--key", body]).await;
    }
    let bodies = |objects: Vec<Value>| objects.iter().map(|object| object["body"].clone()).collect::<Vec<_>>();
    assert_eq!(bodies(server.json(&["scheduled", "orders"]).await), ["a", "b", "c"]);
    assert_eq!(bodies(server.json(&["scheduled", "orders", "--limit", "1"]).await), ["a"]);
    let from = ["scheduled", "orders", "--from", "2030-01-01T00:01:00Z", "--to", "2030-01-01T00:03:00Z"];
    assert_eq!(bodies(server.json(&from).await), ["b"]);
    assert_eq!(bodies(server.json(&["scheduled", "orders", "--key-prefix", "c"]).await), ["c"]);
    let without = server.json(&["scheduled", "orders", "--no-body"]).await;
    assert!(without.iter().all(|object| object.get("body").is_none()), "{without:?}");
    let lines = server.text(&["scheduled", "orders"]).await;
    assert!(lines.starts_with("2030-01-01T00:00:30.000Z  "), "{lines}");
    assert_eq!(lines.lines().count(), 3);
    let timeline = server.text(&["timeline", "orders"]).await;
    assert_eq!(timeline, "2030-01-01T00:00:00.000Z  1\n2030-01-01T00:01:00.000Z  1\n2030-01-01T00:03:00.000Z  1\n");
    let buckets = server.json(&["timeline", "orders", "--bucket", "5m"]).await;
    assert_eq!(buckets, [json!({"from": "2030-01-01T00:00:00.000Z", "count": 3})]);
}

#[tokio::test]
async fn topics_are_made_changed_shown_listed_and_removed() {
    let server = Server::manual().await;
    let made = server.json(&["topic", "set", "orders", "--partitions", "4", "--dedup-window", "1m"]).await.remove(0);
    assert_eq!((&made["partitions"], &made["dedup_window_ms"]), (&json!(4), &json!(60_000)));
    let changed = server.json(&["topic", "set", "orders", "--reset", "dedup_window"]).await.remove(0);
    assert_eq!((&changed["partitions"], &changed["dedup_window_ms"]), (&json!(4), &json!(600_000)));
    let said = server.run(&["topic", "set", "orders", "--partitions", "5"]).await;
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.stderr.contains("setting_fixed"), "{said:?}");
    server.text(&["publish", "orders", "x", "--delay", "1h"]).await;
    let shown = server.text(&["topic", "show", "orders"]).await;
    assert!(shown.lines().any(|line| line.split_whitespace().eq(["stats.scheduled", "1"])), "{shown}");
    let listed = server.text(&["topic", "ls"]).await;
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..2], ["TOPIC", "SCHEDULED"]);
    assert_eq!(rows[1][..3], ["orders", "1", "0"]);
    assert_eq!(server.text(&["topic", "rm", "orders"]).await, "deleted orders\n");
    assert_eq!(server.json(&["topic", "ls"]).await, [] as [Value; 0]);
    assert_eq!(server.run(&["topic", "show", "orders"]).await.code, 4);
}

#[tokio::test]
async fn subscriptions_are_made_changed_paused_moved_and_removed() {
    let server = Server::manual().await;
    let set = ["sub", "set", "orders", "a", "--lease", "1m", "--max-attempts", "3", "--retry-max", "10s"];
    let made = server.json(&set).await.remove(0);
    assert_eq!((&made["lease_ms"], &made["retry"]["max_attempts"]), (&json!(60_000), &json!(3)));
    let changed = server.json(&["sub", "set", "orders", "a", "--reset", "lease"]).await.remove(0);
    assert_eq!((&changed["lease_ms"], &changed["retry"]["max_ms"]), (&json!(30_000), &json!(10_000)));
    server.text(&["publish", "orders", "x"]).await;
    assert_eq!(server.text(&["sub", "pause", "orders", "a"]).await, "paused a of orders\n");
    assert_eq!(server.text(&["consume", "orders", "-s", "a", "--wait", "200ms"]).await, "");
    assert_eq!(server.json(&["sub", "show", "orders", "a"]).await[0]["paused"], true);
    assert_eq!(server.text(&["sub", "resume", "orders", "a"]).await, "resumed a of orders\n");
    assert_eq!(server.text(&["sub", "seek", "orders", "a", "latest"]).await, "moved a of orders\n");
    assert_eq!(server.text(&["consume", "orders", "-s", "a", "--wait", "200ms"]).await, "");
    let listed = server.text(&["sub", "ls", "orders"]).await;
    assert!(listed.lines().nth(1).is_some_and(|line| line.starts_with("a  ")), "{listed}");
    let object = server.json(&["sub", "rm", "orders", "a"]).await.remove(0);
    assert_eq!(object, json!({"topic": "orders", "subscription": "a", "outcome": "deleted"}));
    assert_eq!(server.run(&["sub", "show", "orders", "a"]).await.code, 4);
}

#[tokio::test]
async fn namespaces_keep_their_topics_apart_and_their_limits_together() {
    let server = Server::manual().await;
    let made = server.json(&["ns", "set", "shop", "--max-delay", "7d", "--delay-levels", "5s,10s"]).await.remove(0);
    assert_eq!((&made["max_delay_ms"], &made["delay_levels_ms"]), (&json!(604_800_000), &json!([5000, 10_000])));
    server.text(&["publish", "orders", "x", "--level", "2", "--namespace", "shop"]).await;
    assert_eq!(server.json(&["topic", "ls"]).await.len(), 0);
    assert_eq!(server.json(&["topic", "ls", "--namespace", "shop"]).await.len(), 1);
    let said = server.run(&["publish", "orders", "x", "--delay", "8d", "--namespace", "shop"]).await;
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("delay_too_long"), "{said:?}");
    let listed = server.text(&["ns", "ls"]).await;
    assert!(listed.contains("default") && listed.contains("shop"), "{listed}");
    assert!(server.text(&["ns", "show", "shop"]).await.contains("max_delay_ms"));
    assert_eq!(server.text(&["ns", "rm", "shop"]).await, "deleted shop\n");
    assert_eq!(server.run(&["ns", "rm", "default"]).await.code, 4);
}

#[tokio::test]
async fn a_manual_clock_moves_when_told_and_a_system_clock_does_not() {
    let server = Server::manual().await;
    let shown = server.text(&["clock", "show"]).await;
    assert!(shown.starts_with("now   2030-01-01T00:00:00.000Z\n") && shown.contains("mode  manual"), "{shown}");
    let moved = server.json(&["clock", "advance", "15m"]).await.remove(0);
    assert_eq!(moved["now"], "2030-01-01T00:15:00.000Z");
    let system = Server::start(&["--store", "memory"]).await;
    let said = system.run(&["clock", "advance", "15m"]).await;
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("clock_mode"), "{said:?}");
    assert_eq!(system.json(&["clock", "accept"]).await[0]["mode"], "system");
}

#[tokio::test]
async fn a_timeout_of_fifteen_minutes_is_tried_in_no_time() {
    let server = Server::manual().await;
    server.text(&["publish", "orders", "close order 42", "--delay", "15m", "--key", "42"]).await;
    server.text(&["publish", "orders", "close order 43", "--delay", "15m", "--key", "43"]).await;
    server.text(&["cancel", "orders", "--key", "43"]).await;
    server.text(&["clock", "advance", "14m59s999ms"]).await;
    assert_eq!(server.text(&["consume", "orders", "-s", "closer", "--wait", "200ms"]).await, "");
    server.text(&["clock", "advance", "1ms"]).await;
    assert_eq!(server.text(&["consume", "orders", "-s", "closer"]).await, "close order 42\n");
}
