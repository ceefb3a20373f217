//! A PostgreSQL server of a test's own, spoken to through `psql`, so that the guard is tried on
//! real transactions without linking a driver.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use punctual_client::{RowInserter, api::MessageId};
use tempfile::TempDir;

const TABLES: &str = "CREATE TABLE handled (message_id text PRIMARY KEY); CREATE TABLE effects (what text);";

/// A server in a folder of its own; gone when dropped.
pub(crate) struct Postgres {
    programs: PathBuf,
    folder: TempDir,
}

impl Postgres {
    /// Starts a server with the two tables; `None` where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Arc<Self>> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let mut programs = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
        let programs = programs.find(|programs| programs.join("initdb").exists())?;
        let folder = tempfile::tempdir().expect("a folder");
        let server = Self { programs, folder };
        if is_root() {
            succeed(Command::new("chown").arg("postgres").arg(server.folder.path()));
        }
        succeed(
            server
                .program("initdb")
                .args(["--auth=trust", "--username=postgres", "--no-sync", "-D"])
                .arg(server.data()),
        );
        // Reached by its socket alone, so that no port has to be free.
        let options = format!("-k {} -h '' -F", server.folder.path().display());
        succeed(
            server
                .program("pg_ctl")
                .args(["-w", "-s", "-o", &options, "-l"])
                .arg(server.folder.path().join("log"))
                .arg("-D")
                .arg(server.data())
                .arg("start"),
        );
        let server = Arc::new(server);
        server.session().ask(TABLES);
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The server does not run as root.
    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = if is_root() {
            let mut runuser = Command::new("runuser");
            runuser.args(["-u", "postgres", "--"]).arg(program);
            runuser
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        command
    }

    /// A connection.
    pub(crate) fn session(&self) -> Session {
        Session::open(&self.programs.join("psql"), self.folder.path())
    }

    /// How often the effect was had.
    pub(crate) fn effects(&self) -> String {
        self.session().ask("SELECT count(*) FROM effects;")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.program("pg_ctl").args(["-s", "-m", "immediate", "stop", "-D"]).arg(self.data()).status();
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id");
    id.stdout.starts_with(b"0\n")
}

fn succeed(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("the program");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A connection, over a `psql` of its own. Dropped, the connection breaks and its transaction with it.
pub(crate) struct Session {
    psql: Child,
    say: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl Session {
    fn open(psql: &Path, socket: &Path) -> Self {
        let mut command = Command::new(psql);
        command.args(["--no-psqlrc", "-q", "-A", "-t", "-U", "postgres", "-d", "postgres", "-h"]).arg(socket);
        let mut psql =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("psql");
        let (say, hear) = (psql.stdin.take().expect("a pipe"), psql.stdout.take().expect("a pipe"));
        Self { psql, say, hear: BufReader::new(hear) }
    }

    /// Says something, and hears the answer out.
    pub(crate) fn ask(&mut self, sql: &str) -> String {
        writeln!(self.say, "{sql}\n\\echo end of answer").expect("psql listens");
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.hear.read_line(&mut line).expect("psql answers"), 0, "psql ended after {sql}");
            match line.trim_end() {
                "end of answer" => return lines.join("\n"),
                line => lines.push(line.to_owned()),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}

/// The trait as a user implements it for a pool.
#[derive(Clone)]
pub(crate) struct Handled(pub(crate) Arc<Postgres>);

impl RowInserter for Handled {
    type Transaction = Session;
    type Error = String;

    async fn begin(&self) -> Result<Session, String> {
        let mut session = self.0.session();
        session.ask("BEGIN;");
        Ok(session)
    }

    async fn insert(&self, transaction: &mut Session, id: &MessageId) -> Result<bool, String> {
        let insert = format!("INSERT INTO handled VALUES ('{id}') ON CONFLICT DO NOTHING RETURNING 'inserted';");
        Ok(transaction.ask(&insert) == "inserted")
    }

    async fn commit(&self, mut transaction: Session) -> Result<(), String> {
        transaction.ask("COMMIT;");
        Ok(())
    }

    async fn rollback(&self, mut transaction: Session) -> Result<(), String> {
        transaction.ask("ROLLBACK;");
        Ok(())
    }
}
