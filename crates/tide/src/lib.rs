//! tide: a store made for timelines, on the files of one machine.
//!
//! **The broker does not use it yet.** See docs/ARCHITECTURE.md for what stands and what is missing.

mod batch;
mod check;
mod codec;
mod fold;
mod home;
mod journal;
mod kept;
pub mod limits;
mod options;
mod run;
mod shard;
mod shared;
mod store;
mod syncer;
pub mod vfs;
mod wheel;

pub use check::{Checked, check, check_on};
pub use options::{OpenOptions, Syncing};
pub use store::{Figures, Report, TideStore};
