//! What the tests of the core share.

pub(crate) mod house;
