//! The whole broker inside a Rust program.
//!
//! Opens a data directory (or keeps everything in memory), starts the broker over it, and is a
//! [`punctual_broker_api::Broker`] like the remote client: for tests, small tools and the binary
//! itself. This is the one place beside the binary that names a store.
//!
//! The README shows it in use, with a clock that is moved by hand.

mod config;
mod delegate;
mod open;
mod schedules;

pub use config::{ClockChoice, Config, StoreChoice};
pub use open::{Broker, OpenError};

/// The README's program, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
