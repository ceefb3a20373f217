//! Publishing: one, a batch, or a stream of them with many in flight.

mod producer;
mod publisher;

pub use producer::Producer;
pub use publisher::Publisher;
