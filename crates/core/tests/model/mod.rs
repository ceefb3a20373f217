//! A naive model, the real shard beside it, and histories for both.

pub(crate) mod naive;
pub(crate) mod replay;
mod rig;
pub(crate) mod step;
