//! SIGTERM and SIGINT: the first asks the server to stop, the second ends it at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The two signals that ask a process to end.
#[derive(Debug)]
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Takes the signals over from the system's default, which would end the process at once.
    ///
    /// # Errors
    /// When the system does not let a handler be set.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The next signal's name. May be dropped and asked again.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
