//! Requests as trees of values, and typed reading of their fields.
//!
//! Not derived structs: a fault here has to name the field, its value and what is wrong with it,
//! and a fault of one message must leave its neighbours in the batch alone.

mod fields;
pub(crate) mod read;
mod value;

pub(crate) use fields::Fields;
pub(crate) use value::{Budget, Json, JsonSeed, Object, parse};
