//! The server's life: what it says, how it stops, why it does not start.

use std::{fs, path::Path, time::Duration};

use rustix::process::Signal;
use tokio::time::timeout;

use crate::support::{Said, Server, run, text};

/// Tries to start on a directory and answers how that ended.
async fn refused(data: &Path) -> Said {
    run(&["serve", "--data", text(data), "--http", "off", "--grpc", "127.0.0.1:0"]).await
}

fn listing(directory: &Path) -> Vec<(String, u64)> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("an entry");
        (entry.file_name().to_string_lossy().into_owned(), entry.metadata().expect("its data").len())
    };
    let mut entries: Vec<_> = fs::read_dir(directory).expect("a directory").map(entry).collect();
    entries.sort();
    entries
}

/// A format file as a later version would write it: its check holds in every version.
fn with_format(ours: &str, version: u32) -> String {
    let (checked, _) = ours.rsplit_once("check ").expect("a check");
    let checked = checked.replace("\nformat 1\n", &format!("\nformat {version}\n"));
    let fnv1a = checked
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    assert_ne!(format!("{checked}check {fnv1a:016x}\n"), ours);
    format!("{checked}check {fnv1a:016x}\n")
}

#[tokio::test]
async fn it_says_where_it_listens_and_where_its_data_is_and_stops_when_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    for signal in [Signal::TERM, Signal::INT] {
        let server = Server::start(&["--data", text(&data)]).await;
        assert_eq!(server.banner["data"], text(&data.canonicalize().expect("it was made")));
        assert!(server.http.starts_with("127.0.0.1:") && !server.http.ends_with(":0"), "{}", server.banner);
        server.text(&["publish", "orders", "x", "--delay", "1h"]).await;
        server.signal(signal);
        assert_eq!(server.ended().await.code(), Some(0), "after {signal:?}");
    }
    let server = Server::start(&["--data", text(&data)]).await;
    assert_eq!(server.json(&["scheduled", "orders"]).await.len(), 2, "both messages outlived the stops");
}

#[tokio::test]
async fn it_stops_in_time_with_a_consumer_that_waits_and_gives_back_what_was_leased() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::start(&["--data", text(directory.path())]).await;
    server.text(&["sub", "set", "orders", "a"]).await;
    server.text(&["publish", "orders", "x"]).await;
    let slow = server.run(&["consume", "orders", "-s", "a", "--follow", "--exec", "sleep 600"]);
    let leased = async {
        loop {
            let shown = server.json(&["sub", "show", "orders", "a"]).await;
            if shown[0]["stats"]["leased"] == 1 {
                break;
            }
        }
    };
    tokio::select! {
        said = slow => panic!("the consumer ended: {said:?}"),
        () = leased => {}
    }
    let status = timeout(Duration::from_secs(30), server.stop()).await.expect("within its grace");
    assert_eq!(status.code(), Some(0));
    let server = Server::start(&["--data", text(directory.path())]).await;
    let again = server.json(&["consume", "orders", "-s", "a", "--max", "1", "--wait", "10s"]).await;
    assert_eq!(again[0]["body"], "x");
}

#[tokio::test]
async fn a_directory_that_another_process_has_open_is_refused_with_code_11() {
    let directory = tempfile::tempdir().expect("a directory");
    let _server = Server::start(&["--data", text(directory.path())]).await;
    let said = refused(directory.path()).await;
    assert_eq!(said.code, 11, "{said:?}");
    assert!(said.stderr.contains(text(directory.path())), "{said:?}");
}

#[tokio::test]
async fn a_directory_of_a_newer_format_or_of_something_else_is_refused_with_code_12_and_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    assert_eq!(Server::start(&["--data", text(&data)]).await.stop().await.code(), Some(0));
    let format = data.join("punctual.format");
    let ours = fs::read_to_string(&format).expect("a format file of text");
    let newer = with_format(&ours, 9);
    fs::write(&format, &newer).expect("written");
    let before = listing(&data);
    let said = refused(&data).await;
    assert_eq!(said.code, 12, "{said:?}");
    assert!(said.stderr.contains(text(&data)), "{said:?}");
    assert_eq!(listing(&data), before, "nothing was modified");
    assert_eq!(fs::read_to_string(&format).expect("still there"), newer);

    let foreign = directory.path().join("foreign");
    fs::create_dir(&foreign).expect("made");
    fs::write(foreign.join("letters.txt"), "dear").expect("written");
    let said = refused(&foreign).await;
    assert_eq!(said.code, 12, "{said:?}");
    assert_eq!(listing(&foreign), [("letters.txt".to_owned(), 4)]);
}

#[tokio::test]
async fn a_path_that_cannot_be_a_directory_is_refused_with_code_13() {
    // Works as root as well, who may write wherever modes forbid it to others.
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "x").expect("written");
    let said = refused(&file).await;
    assert_eq!(said.code, 13, "{said:?}");
    assert!(said.stderr.contains(text(&file)), "{said:?}");
    assert_eq!(fs::read_to_string(&file).expect("still there"), "x");
}

#[tokio::test]
async fn a_full_disk_is_refused_with_code_14() {
    // `/proc/sys` and its like have no room at all and cannot be written; a small tmpfs is the real
    // thing, but only root may mount one, and not in every container.
    let directory = tempfile::tempdir().expect("a directory");
    let mount = |args: &[&str]| std::process::Command::new("mount").args(args).output();
    let mounted = mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs", text(directory.path())]);
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: this user or container may not mount a tmpfs");
        return;
    }
    let said = refused(directory.path()).await;
    let unmounted = std::process::Command::new("umount").arg(directory.path()).status();
    assert_eq!(said.code, 14, "{said:?}");
    assert!(said.stderr.contains(text(directory.path())), "{said:?}");
    assert!(unmounted.expect("umount is there").success());
}

#[tokio::test]
async fn damaged_data_is_refused_with_code_15() {
    let directory = tempfile::tempdir().expect("a directory");
    assert_eq!(Server::start(&["--data", text(directory.path())]).await.stop().await.code(), Some(0));
    let format = directory.path().join("punctual.format");
    let ours = fs::read_to_string(&format).expect("a format file of text");
    let flipped = ours.replacen("format 1", "format 3", 1);
    fs::write(&format, &flipped).expect("written");
    let said = refused(directory.path()).await;
    assert_eq!(said.code, 15, "a flipped bit is not taken for a newer version: {said:?}");
    assert!(said.stderr.contains(text(&format)), "{said:?}");
    assert_eq!(fs::read_to_string(&format).expect("still there"), flipped);
    fs::write(&format, ours).expect("written");
    fs::remove_dir_all(directory.path().join("fjall")).expect("the database was there");
    let said = refused(directory.path()).await;
    assert_eq!(said.code, 15, "{said:?}");
    assert!(said.stderr.contains(text(directory.path())), "{said:?}");
}

#[tokio::test]
async fn an_address_in_use_is_refused_with_code_16() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let said = run(&["serve", "--store", "memory", "--http", "off", "--grpc", &address]).await;
    assert_eq!(said.code, 16, "{said:?}");
    assert!(said.stderr.contains(&address), "{said:?}");
}

#[tokio::test]
async fn tokens_lock_the_door_for_whoever_has_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("p.toml");
    fs::write(&config, "tokens = ['s3cret']\nstore = 'memory'\n").expect("written");
    let server = Server::start(&["--config", text(&config)]).await;
    assert_eq!(server.run(&["topic", "ls"]).await.code, 4);
    assert_eq!(server.run(&["topic", "ls", "--token", "wrong"]).await.code, 4);
    assert_eq!(server.run(&["topic", "ls", "--token", "s3cret"]).await.code, 0);
}

#[tokio::test]
async fn logs_are_objects_on_stderr_when_asked_for() {
    let mut command = crate::support::punctual();
    command.args(["serve", "--store", "memory", "--http", "off", "--grpc", "127.0.0.1:0", "--log-format", "json"]);
    let mut child = command.spawn().expect("the binary starts");
    let stdout = child.stdout.take().expect("a pipe");
    let mut line = String::new();
    let mut lines = tokio::io::BufReader::new(stdout);
    tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line).await.expect("readable");
    assert!(line.starts_with("grpc listening on 127.0.0.1:"), "{line}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id().expect("it runs")).expect("small"));
    rustix::process::kill_process(pid.expect("not zero"), Signal::TERM).expect("signalled");
    let output = timeout(crate::support::PATIENCE, child.wait_with_output()).await.expect("it ends").expect("output");
    let log = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!log.is_empty());
    for line in log.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(object["level"].is_string() && object["timestamp"].is_string(), "{line}");
    }
}
