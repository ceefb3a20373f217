//! `publish --lines`: a file goes in, every line comes out.

use std::{process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

use crate::{
    oracle::{ClockTie, Judge, Plan, Received, ms, now, size},
    support::{Server, finish, punctual, text},
};

#[tokio::test]
async fn a_bad_line_is_reported_with_its_number_and_does_not_stop_the_rest() {
    let server = Server::manual().await;
    let input =
        b"plain body\n{\"body\":\"an object\",\"delay\":\"5s\"}\n\n{\"body\":\"x\",\"colour\":\"red\"}\n{broken\nlast";
    let said = server.run_with(&["publish", "orders", "--lines", "-"], input).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stdout.starts_with("published 3 of 5 lines"), "{said:?}");
    assert!(said.stdout.trim_end().ends_with("; 2 refused"), "{said:?}");
    assert!(said.stderr.contains("line 4: a message has no field `colour`"), "{said:?}");
    assert!(said.stderr.contains("line 5: "), "{said:?}");
    assert_eq!(server.text(&["consume", "orders", "-s", "a"]).await, "plain body\nlast\n");
    server.text(&["clock", "advance", "5s"]).await;
    assert_eq!(server.text(&["consume", "orders", "-s", "a"]).await, "an object\n");
}

#[tokio::test]
async fn with_json_every_line_has_its_result_and_the_summary_comes_last() {
    let server = Server::manual().await;
    let input = b"one\n{\"body\":\"two\",\"priority\":7}\n{\"nobody\":1}\n";
    let said = server.run_with(&["publish", "orders", "--lines", "-", "--json"], input).await;
    assert_eq!(said.code, 1, "{said:?}");
    let mut objects = said.objects();
    let summary = objects.pop().expect("a summary");
    assert_eq!((&summary["summary"]["lines"], &summary["summary"]["published"]), (&Value::from(3), &Value::from(1)));
    objects.sort_by_key(|object| object["line"].as_u64());
    assert_eq!((&objects[0]["line"], &objects[0]["status"]), (&Value::from(1), &Value::from("accepted")));
    assert_eq!(objects[1]["line"], 2, "refused by the broker: {}", objects[1]);
    assert_eq!(objects[1]["error"]["field"].as_str().map(|field| field.contains("priority")), Some(true));
    assert_eq!((&objects[2]["line"], &objects[2]["error"]["code"]), (&Value::from(3), &Value::from("unknown_field")));
}

#[tokio::test]
async fn raw_lines_are_bodies_whatever_they_look_like_and_flags_fill_in_the_rest() {
    let server = Server::manual().await;
    let input = b"{\"order\":42}\r\n";
    let args = ["publish", "orders", "--lines", "-", "--raw", "--delay", "1m", "--tag", "t", "-H", "a=b"];
    assert_eq!(server.run_with(&args, input).await.code, 0);
    let scheduled = server.json(&["scheduled", "orders"]).await;
    assert_eq!(scheduled[0]["body"], "{\"order\":42}");
    assert_eq!(scheduled[0]["deliver_at"], "2030-01-01T00:01:00.000Z");
    assert_eq!((&scheduled[0]["tag"], &scheduled[0]["headers"]["a"]), (&Value::from("t"), &Value::from("b")));
}

#[tokio::test]
async fn a_file_published_twice_under_one_dedup_id_is_stored_once() {
    let server = Server::manual().await;
    let args = ["publish", "orders", "--lines", "-", "--dedup-id", "file-1", "--delay", "1h"];
    for expected in ["published 3 of 3", "published 3 of 3 lines"] {
        let said = server.run_with(&args, b"a\nb\nc\n").await;
        assert!(said.code == 0 && said.stdout.starts_with(expected), "{said:?}");
    }
    assert_eq!(server.json(&["scheduled", "orders"]).await.len(), 3);
}

#[tokio::test]
async fn a_call_that_is_refused_as_a_whole_ends_with_code_4() {
    let server = Server::manual().await;
    let said = server.run_with(&["publish", "orders", "--lines", "-", "--namespace", "nobody"], b"a\nb\n").await;
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.stderr.contains("namespace_not_found"), "{said:?}");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let server = Server::manual().await;
    let said = server.run(&["publish", "orders", "--lines", "/no/such/file"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("/no/such/file"), "{said:?}");
}

/// Receives with the command until so many messages have come.
async fn consume(server: &str, subscription: &str, messages: u64, mut judge: Judge, bound: Duration) -> Judge {
    let mut command = punctual();
    command.args(["consume", "orders", "--subscription", subscription, "--json", "--follow", "--server", server]);
    command.args(["--max", &messages.to_string()]).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let reading = async {
        while let Some(line) = lines.next_line().await.expect("stdout is readable") {
            let at = now();
            let object: Value = serde_json::from_str(&line).expect("one object a line");
            let time = |name: &str| ms(object[name].as_str().expect(name));
            judge.take(&Received {
                body: object["body"].as_str().unwrap_or_default(),
                at,
                published_at_ms: time("published_at"),
                deliver_at_ms: time("deliver_at"),
                delivered_at_ms: time("delivered_at"),
                lateness_ms: object["lateness_ms"].as_u64().expect("a number"),
            });
        }
    };
    if timeout(bound, reading).await.is_err() {
        judge.faults.push(format!("only {} of {messages} came within {bound:?}", judge.unique()));
        return judge;
    }
    let status = child.wait().await.expect("its status");
    assert!(status.success(), "{status}");
    judge
}

/// The promise: `PUNCTUAL_LINES=1000000 PUNCTUAL_SPREAD=60 cargo test --release -p punctual
/// --test cli lines_come_out_once_each -- --nocapture` runs it at a million.
#[tokio::test(flavor = "multi_thread")]
async fn lines_come_out_once_each() {
    let spread = Duration::from_secs(size("PUNCTUAL_SPREAD", 10));
    let plan = Plan { lines: size("PUNCTUAL_LINES", 100_000), spread, seed: size("PUNCTUAL_SEED", 1) };
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("lines.ndjson");
    plan.write(&file);
    let server = Server::start(&["--data", text(&directory.path().join("data"))]).await;
    for subscription in ["a", "b"] {
        server.text(&["sub", "set", "orders", subscription]).await;
    }
    let tie = ClockTie::of(&server).await;
    let bound = spread + Duration::from_secs(60 + plan.lines / 2_000);
    let mut publish = punctual();
    publish.args(["publish", "orders", "--lines", text(&file), "--server", &server.grpc]);
    let publishing =
        tokio::spawn(async move { timeout(bound, publish.output()).await.expect("in time").expect("output") });
    let consuming = ["a", "b"].map(|subscription| {
        let (grpc, judge) = (server.grpc.clone(), Judge::new(plan, tie));
        tokio::spawn(async move { consume(&grpc, subscription, plan.lines, judge, bound).await })
    });
    let published = publishing.await.expect("it ran");
    eprintln!("{}", String::from_utf8_lossy(&published.stdout).trim_end());
    assert!(published.status.success(), "{published:?}");
    for (task, subscription) in consuming.into_iter().zip(["a", "b"]) {
        let judge = task.await.expect("it ran");
        eprintln!("subscription {subscription}: {}", judge.lateness_text());
        assert!(judge.faults.is_empty(), "subscription {subscription}: {}", judge.shown_faults());
        assert_eq!(judge.unique() as u64, plan.lines, "subscription {subscription}");
        assert_eq!(judge.repeated(), 0, "subscription {subscription}");
        let mut more = punctual();
        more.args(["consume", "orders", "--subscription", subscription, "--server", &server.grpc]);
        assert_eq!(finish(more, b"").await.stdout, "", "nothing is left for subscription {subscription}");
    }
    assert_eq!(server.stop().await.code(), Some(0));
}
