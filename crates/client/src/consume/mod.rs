//! Consuming: a loop that leases messages, hands them to a handler and answers for it.

mod backoff;
mod failure;
mod job;
mod keeper;
mod leased;
mod run;
mod stop;
mod worker;

pub(crate) use backoff::Backoff;
pub use failure::Failure;
pub use leased::{Lease, Leased};
pub use stop::Stopper;
pub use worker::Worker;
