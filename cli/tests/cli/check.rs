//! `check`: what is whole is called whole, and what is not is not.

use std::fs;

use crate::support::{Server, run, text};

#[tokio::test]
async fn a_whole_directory_is_counted_and_called_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let server = Server::start(&["--data", text(&data)]).await;
    server.text(&["sub", "set", "orders", "a"]).await;
    for delay in ["0", "1h", "2h"] {
        server.text(&["publish", "orders", "x", "--delay", delay, "--key", delay]).await;
    }
    assert_eq!(run(&["check", text(&data)]).await.code, 11, "while a broker has it open");
    assert_eq!(server.stop().await.code(), Some(0));
    let said = run(&["check", text(&data), "--json"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let object = said.object();
    assert_eq!(object["scheduled"], 2, "{object}");
    assert_eq!(object["faults"], serde_json::json!([]));
    assert!(object["not_checked"].as_str().is_some_and(|text| text.contains("index")), "{object}");
    let said = run(&["check", text(&data)]).await;
    assert!(said.stdout.contains("no fault was found") && said.stdout.contains("not checked"), "{said:?}");
    // A check leaves a directory that can be served.
    let server = Server::start(&["--data", text(&data)]).await;
    assert_eq!(server.json(&["scheduled", "orders"]).await.len(), 2);
}

#[tokio::test]
async fn what_is_no_data_directory_is_refused_and_nothing_is_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = directory.path().join("missing");
    for path in [directory.path(), &missing] {
        let said = run(&["check", text(path)]).await;
        assert_eq!(said.code, 12, "{said:?}");
        assert!(said.stderr.contains(text(path)), "{said:?}");
    }
    assert!(!missing.exists());
    assert_eq!(fs::read_dir(directory.path()).expect("still there").count(), 0);
}
