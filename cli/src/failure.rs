//! Why a command was not done, in a form that the end of the process can print.

use std::io::Write as _;

use punctual_broker_api::{Code, Error, Kind};
use serde_json::json;

use crate::{exit::Exit, json};

/// Why a command was not done.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// What went wrong: lowercase, what was being done, no full stop. Empty when everything that
    /// there is to say has been said.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The broker's own error, when it was the broker that refused.
    error: Option<Box<Error>>,
}

impl Failure {
    /// A failure that is told to the user.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, error: None }
    }

    /// A failure whose details stand on the terminal already.
    pub(crate) fn told(exit: Exit) -> Self {
        Self::new(exit, String::new())
    }

    /// Ends the process in another way.
    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Says what to do.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the failure on stderr: a sentence, or with `json` one object.
    pub(crate) fn print(&self, json: bool) {
        if self.message.is_empty() {
            return;
        }
        // When stderr is gone too there is nobody left to tell; the exit code says it all.
        let mut stderr = std::io::stderr().lock();
        if json {
            let error = match &self.error {
                Some(error) => json::error(error),
                None => json!({"code": "failed", "message": self.message, "hint": self.hint}),
            };
            let _ = writeln!(stderr, "{}", json!({"error": error, "exit_code": self.exit as u8}));
            return;
        }
        let _ = writeln!(stderr, "error: {}", self.message);
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "  hint: {hint}");
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = format!("{error} [{}]", error.code.slug());
        Self { exit: exit_of(&error), message, hint: error.hint.clone(), error: Some(Box::new(error)) }
    }
}

/// Output that cannot be written ends the command. A closed pipe (`… | head -1`) is the reader's
/// wish, so nothing is said about it.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::told(Exit::Failed);
        }
        Self::new(Exit::Failed, format!("cannot read or write: {error}"))
    }
}

/// The exit code for an error of the broker or of the way to it.
pub(crate) fn exit_of(error: &Error) -> Exit {
    match (error.code, error.kind()) {
        (Code::Unreachable, _) => Exit::Unreachable,
        // Nobody knows whether it was done, or the broker has a bug: that is no refusal.
        (_, Kind::UnknownOutcome | Kind::Internal) => Exit::Failed,
        (
            _,
            Kind::Invalid
            | Kind::Unauthenticated
            | Kind::Forbidden
            | Kind::NotFound
            | Kind::Conflict
            | Kind::TooLarge
            | Kind::Overloaded
            | Kind::Unavailable,
        ) => Exit::Refused,
    }
}
