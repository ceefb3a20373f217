//! The HTTP door over a real broker, as its clients see it.

mod bad_input;
mod connections;
mod document;
mod house;
mod schedules;
mod schema;
mod stream;
mod tour;
mod wire;
