//! What every store is tested with.

mod wait;

pub use wait::{ready, wait};
