//! Where data goes: stdout, as text for people or as one JSON object a line.

use std::io::{IsTerminal as _, Write as _};

use serde_json::Value;

use crate::failure::Failure;

/// The form of what a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// One JSON object a line instead of text.
    pub json: bool,
}

impl Output {
    /// Prints one thing: the object, or the text made only when it is wanted.
    pub(crate) fn print(self, object: &Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        if self.json {
            writeln!(stdout, "{object}")?;
        } else {
            writeln!(stdout, "{}", text())?;
        }
        stdout.flush()?;
        Ok(())
    }

    /// Prints bytes as they are and ends the line.
    pub(crate) fn print_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.write_all(b"\n")?;
        Ok(())
    }

    /// Hands everything printed so far to whoever reads it.
    pub(crate) fn flush(self) -> Result<(), Failure> {
        Ok(std::io::stdout().lock().flush()?)
    }

    /// Says something beside the data, on stderr.
    pub(crate) fn note(self, text: &str) {
        // Nobody listens when stderr is closed; the command goes on.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Whether somebody watches stderr, so that a progress bar makes sense.
    pub(crate) fn watched(self) -> bool {
        std::io::stderr().is_terminal()
    }
}
