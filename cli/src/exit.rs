//! What the process says when it ends. The numbers are part of the contract: they are never
//! reused, and docs/operations.md tells an operator what to do about each.

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// It was done.
    Done = 0,
    /// It was not done, or not all of it.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The broker cannot be reached.
    Unreachable = 3,
    /// The broker answered, and refused.
    Refused = 4,
    /// The server's store failed while running: nothing is acknowledged after it.
    StoreFailed = 10,
    /// Another process has the data directory open.
    DataLocked = 11,
    /// The data directory was written by a newer version, or by something else.
    DataFormat = 12,
    /// The data directory cannot be written.
    DataAccess = 13,
    /// There is no room on the disk to start.
    DataFull = 14,
    /// Stored bytes are not what was written.
    DataCorrupt = 15,
    /// An address cannot be listened on.
    CannotListen = 16,
    /// The configuration is wrong, or would open the broker to strangers.
    Configuration = 17,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
