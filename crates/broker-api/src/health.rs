//! Whether the broker is well.

/// Whether requests make sense at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Everything works.
    Ready,
    /// It is stopping and takes nothing new.
    Stopping,
    /// The durability path failed; the process is about to exit. Says why.
    Failed(String),
}
