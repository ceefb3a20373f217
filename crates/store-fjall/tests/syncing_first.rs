//! What a dead process left unsynced is synced before recovery reads it: otherwise the store would
//! act on, and answer for, bytes that the next power cut takes away.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use punctual_store_fjall::{FjallStore, OpenOptions};

const CHILD: &str = "PUNCTUAL_TEST_OPENING_DIRECTORY";

fn open(directory: &Path) {
    drop(FjallStore::open(directory, &OpenOptions::new(1, [1; 16])).expect("opens"));
}

/// The child: opens a store.
#[test]
fn child_that_opens_a_store() {
    if let Some(directory) = env::var_os(CHILD) {
        open(Path::new(&directory));
    }
}

#[test]
fn journals_and_folders_are_synced_before_they_are_read() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    open(&data);
    let log = directory.path().join("strace");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-y", "-e", "trace=fsync,read", "-o"])
        .arg(&log)
        .arg(env::current_exe().expect("this binary"))
        .args(["child_that_opens_a_store", "--exact"])
        .env(CHILD, &data)
        .stdin(Stdio::null())
        .output();
    let refused = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).contains("ptrace");
    let Some(output) = output.ok().filter(|output| !refused(output)) else {
        eprintln!("not run: there is no strace here, or it may not trace");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(&log).expect("traced");
    let first = |call: &str, path: &str| log.lines().position(|line| line.contains(call) && line.contains(path));
    let read = first("read(", ".jnl>").expect("the journal is read");
    let database = data.join("fjall");
    for synced in
        [".jnl>".to_owned(), format!("<{}>", database.display()), format!("<{}/keyspaces>", database.display())]
    {
        let sync = first("fsync(", &synced).unwrap_or_else(|| panic!("{synced} is never synced:\n{log}"));
        assert!(sync < read, "{synced} is synced in line {sync}, the journal read in line {read}:\n{log}");
    }
}
