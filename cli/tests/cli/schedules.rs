//! `punctual schedule`, by what it prints.

use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn a_schedule_is_made_shown_run_paused_and_deleted() {
    let server = Server::manual().await;
    let made = server
        .json(&[
            "schedule",
            "set",
            "nightly",
            "make the report",
            "--topic",
            "reports",
            "--cron",
            "30 2 * * *",
            "--timezone",
            "Europe/Berlin",
            "--tag",
            "t",
            "-H",
            "a=b",
        ])
        .await
        .remove(0);
    assert_eq!((&made["cron"], &made["timezone"]), (&json!("30 2 * * *"), &json!("Europe/Berlin")));
    assert_eq!(made["message"], json!({"body": "make the report", "tag": "t", "headers": {"a": "b"}, "priority": 0}));
    assert_eq!(made["next"][0], "2030-01-01T01:30:00.000Z");
    assert_eq!(made["next"].as_array().map(Vec::len), Some(5));
    server.text(&["clock", "advance", "2h"]).await;
    assert_eq!(server.text(&["consume", "reports", "-s", "maker"]).await, "make the report\n");
    let paused = server.text(&["schedule", "pause", "nightly"]).await;
    assert!(paused.contains("paused") && paused.contains("true"), "{paused}");
    let listed = server.text(&["schedule", "ls"]).await;
    let line = listed.lines().nth(1).unwrap_or_default();
    assert!(
        line.starts_with("nightly") && line.contains("30 2 * * * Europe/Berlin") && line.contains("paused"),
        "{line}"
    );
    let triggered = server.json(&["schedule", "trigger", "nightly"]).await.remove(0);
    assert_eq!(
        (&triggered["runs"], &triggered["last"]["nominal_time"]),
        (&json!(2), &json!("2030-01-01T02:00:00.000Z"))
    );
    assert_eq!(server.text(&["consume", "reports", "-s", "maker"]).await, "make the report\n");
    let resumed = server.json(&["schedule", "resume", "nightly"]).await.remove(0);
    assert_eq!(resumed["paused"], false);
    let changed = server.json(&["schedule", "set", "nightly", "--every", "1h", "--jitter", "5m"]).await.remove(0);
    assert_eq!((&changed["cron"], &changed["every_ms"]), (&json!(null), &json!(3_600_000)));
    assert_eq!(changed["message"]["body"], "make the report", "what was left out is kept");
    let reset = server.json(&["schedule", "set", "nightly", "--reset", "jitter"]).await.remove(0);
    assert_eq!(reset["jitter_ms"], 0);
    assert_eq!(server.json(&["schedule", "ls"]).await.len(), 1);
    assert_eq!(server.text(&["schedule", "rm", "nightly"]).await, "deleted nightly\n");
    let said = server.run(&["schedule", "show", "nightly"]).await;
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("schedule_not_found"), "{said:?}");
}

#[tokio::test]
async fn a_body_may_come_from_standard_input_and_a_bad_expression_is_told() {
    let server = Server::manual().await;
    let args = ["schedule", "set", "s", "-", "--topic", "t", "--every", "1m", "--max-runs", "1", "--json"];
    let said = server.run_with(&args, b"from a pipe").await;
    assert_eq!(said.object()["message"]["body"], "from a pipe");
    let said = server.run(&["schedule", "set", "s", "--cron", "61 * * * *"]).await;
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("invalid_cron") && said.stderr.contains("61"), "{said:?}");
}
