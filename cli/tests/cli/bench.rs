//! `bench`: its runs are clean on a broker that works, and say so when it does not.

use crate::support::{Server, finish, punctual, text};

#[tokio::test]
async fn a_broker_of_its_own_is_started_measured_and_cleaned_away() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = punctual();
    command.args(["bench", "end-to-end", "--json", "--spawn-in", text(directory.path()), "--messages", "5000"]);
    command.args(["--delays", "uniform:0..500ms", "--subscriptions", "2", "--batch", "50", "--seed", "7"]);
    let said = finish(command, b"").await;
    assert_eq!(said.code, 0, "{said:?}");
    let report = said.object();
    assert_eq!((&report["clean"], &report["publish"]["accepted"]), (&true.into(), &5000.into()), "{report}");
    for subscription in report["subscriptions"].as_array().expect("two of them") {
        for (count, expected) in [("unique", 5000), ("lost", 0), ("early", 0), ("altered", 0), ("phantom", 0)] {
            assert_eq!(subscription[count], expected, "{count}: {report}");
        }
        assert!(subscription["lateness_client"]["p99_ms"].is_number(), "{report}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("still there").count(), 0, "the data is removed");
}

#[tokio::test]
async fn a_running_broker_is_measured_and_its_topics_are_removed() {
    let server = Server::start(&["--store", "memory"]).await;
    let text = server.text(&["bench", "publish", "--messages", "2000", "--rate", "20000", "--topics", "2"]).await;
    assert!(text.contains("published  2000 of 2000") && text.contains("p99.9"), "{text}");
    let text = server.text(&["bench", "deliver", "--messages", "2000", "--consumers", "2"]).await;
    assert!(text.contains("2000 acked") && text.contains("lost 0"), "{text}");
    assert_eq!(server.json(&["topic", "ls"]).await.len(), 0);
}

#[tokio::test]
async fn messages_that_are_refused_make_the_run_fail() {
    let server = Server::start(&["--store", "memory", "--limits-body-bytes-max", "100"]).await;
    let said = server.run(&["bench", "publish", "--messages", "10", "--json"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.object()["publish"]["failed"]["body_too_large"], 10, "{said:?}");
    let said = server.run(&["bench", "publish", "--size", "10"]).await;
    assert_eq!(said.code, 2, "{said:?}");
}
