//! A sync that fails: nothing is acknowledged after it, and the process ends and says why.

use std::{fs::File, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    oracle::now,
    support::{PATIENCE, Server, text},
};

/// From now on every sync of the server fails. `None` where processes cannot be traced.
async fn break_syncs(server: &Server) -> Option<Child> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO", "-p"]);
    strace.arg(server.pid().to_string()).kill_on_drop(true).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = strace.spawn().ok()?;
    let mut said = BufReader::new(child.stderr.take()?).lines();
    loop {
        let line = timeout(PATIENCE, said.next_line()).await.expect("strace says something").expect("readable")?;
        if line.contains("attached") {
            break;
        }
        if line.contains("not permitted") {
            return None;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
    Some(child)
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_acknowledged_and_the_server_ends_with_code_10_within_a_second() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let log = directory.path().join("log");
    let stderr = Stdio::from(File::create(&log).expect("made"));
    let server = Server::start_with("127.0.0.1:0", &["--data", text(&data)], stderr).await;
    server.text(&["publish", "orders", "before", "--delay", "1h"]).await;
    let Some(_strace) = break_syncs(&server).await else {
        eprintln!("not run: strace is not installed or may not trace here");
        return;
    };
    let said = server.run(&["publish", "orders", "after", "--delay", "1h"]).await;
    assert_ne!(said.code, 0, "a publish that was not synced is not acknowledged: {said:?}");
    let failed = now();
    assert_eq!(server.ended().await.code(), Some(10));
    assert!(now().duration_since(failed) <= Duration::from_secs(1), "it ends within a second of the refusal");
    let log = std::fs::read_to_string(&log).expect("the log");
    let data_shown = data.canonicalize().expect("it was made");
    assert!(log.contains("store failed") && log.contains(text(&data_shown)), "the log says what and where: {log}");

    let server = Server::start(&["--data", text(&data)]).await;
    let scheduled = server.json(&["scheduled", "orders"]).await;
    assert!(scheduled.iter().any(|object| object["body"] == "before"), "what was acknowledged is there: {scheduled:?}");
}
