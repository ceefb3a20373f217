//! Starting the binary, talking to it, and waiting for it, each with a bound.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// Longer than anything takes unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The binary, without settings of whoever runs the tests.
pub(crate) fn punctual() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PUNCTUAL_") {
            command.env_remove(name);
        }
    }
    command.kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// The lines of stdout, each one object.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The one object on stdout.
    pub(crate) fn object(&self) -> Value {
        let mut objects = self.objects();
        assert_eq!(objects.len(), 1, "{self:?}");
        objects.remove(0)
    }
}

/// Runs a command to its end.
pub(crate) async fn finish(mut command: Command, input: &[u8]) -> Said {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let feeding = async {
        // A command that refuses its arguments does not read.
        let _ = stdin.write_all(input).await;
        drop(stdin);
    };
    let (output, ()) = timeout(PATIENCE, async { tokio::join!(child.wait_with_output(), feeding) })
        .await
        .unwrap_or_else(|_| panic!("{command:?} hangs"));
    let output = output.expect("its end");
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs the binary with these arguments.
pub(crate) async fn run(args: &[&str]) -> Said {
    let mut command = punctual();
    command.args(args);
    finish(command, b"").await
}

/// A running `punctual serve`; killed with this value.
pub(crate) struct Server {
    child: Child,
    pub grpc: String,
    pub http: String,
    pub banner: Value,
}

impl Server {
    /// Starts one on free ports.
    pub(crate) async fn start(args: &[&str]) -> Self {
        Self::start_on("127.0.0.1:0", args).await
    }

    /// Starts one with gRPC at an address.
    pub(crate) async fn start_on(grpc: &str, args: &[&str]) -> Self {
        Self::start_with(grpc, args, Stdio::inherit()).await
    }

    /// The same, its log going somewhere else.
    pub(crate) async fn start_with(grpc: &str, args: &[&str], log: Stdio) -> Self {
        let mut command = punctual();
        command.args(["serve", "--json", "--http", "127.0.0.1:0", "--grpc", grpc]).args(args);
        command.stderr(log);
        let mut child = command.spawn().expect("the binary starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        let read = timeout(PATIENCE, stdout.read_line(&mut line)).await.expect("it says where it listens in time");
        read.expect("stdout is readable");
        // Whatever else it might say must not fill the pipe.
        tokio::spawn(async move {
            let mut rest = Vec::new();
            let _ = stdout.read_to_end(&mut rest).await;
        });
        let banner: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("banner {line:?}: {error}"));
        let address = |door: &str| banner[door].as_str().unwrap_or_default().to_owned();
        Self { child, grpc: address("grpc"), http: address("http"), banner }
    }

    /// One with a manual clock and nothing on disk: what it answers depends on nothing else.
    pub(crate) async fn manual() -> Self {
        Self::start(&["--store", "memory", "--clock", "manual", "--clock-start", "2030-01-01T00:00:00Z"]).await
    }

    /// Runs a command against it.
    pub(crate) async fn run(&self, args: &[&str]) -> Said {
        self.run_with(args, b"").await
    }

    /// The same with something on standard input.
    pub(crate) async fn run_with(&self, args: &[&str], input: &[u8]) -> Said {
        let mut command = punctual();
        command.args(args).args(["--server", &self.grpc]);
        finish(command, input).await
    }

    /// Runs a command that must succeed and answers its stdout.
    pub(crate) async fn text(&self, args: &[&str]) -> String {
        let said = self.run(args).await;
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.stdout
    }

    /// Runs a command that must succeed with `--json` and answers its objects.
    pub(crate) async fn json(&self, args: &[&str]) -> Vec<Value> {
        let said = self.run(&[args, &["--json"]].concat()).await;
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.objects()
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        pid.expect("it runs")
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).expect("it can be signalled");
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.expect("it ends in time").expect("its status")
    }

    /// Asks it to stop and waits.
    pub(crate) async fn stop(self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.ended().await
    }

    /// Kills it where it stands.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("it can be killed");
    }
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
