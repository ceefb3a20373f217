//! What every store is tested with.
//!
//! * [`conformance`]: one function a promise, run on a store with `store_conformance!(Harness)`;
//! * [`model`]: random histories compared with a naive model, by seed;
//! * [`FaultyStore`]: a wrapper whose commits and syncs fail, or wait, on command.
//!
//! A store takes part by a [`Harness`]: how to make it, reopen it, and crash it if it can.

pub mod conformance;
mod faulty;
mod harness;
pub mod model;
mod wait;

pub use faulty::{Faults, FaultyStore, Lasting};
pub use harness::Harness;
pub use wait::{ready, wait};
