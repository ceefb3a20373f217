//! The broker: namespaces, shards, the clock, leases, group commit.
//!
//! It takes a [`punctual_store_api::Store`] and is a [`punctual_broker_api::Broker`]. Requests come
//! in by that trait alone, are routed to the shard that owns their partition (`shard/`), and are
//! answered when what they rest on is safe. It knows no protocol and no file.

mod catalog;
mod clock;
mod door;
mod handle_text;
mod metrics;
mod random;
mod schedule;
mod shard;

pub use clock::ClockConfig;
pub use door::{Broker, BrokerConfig, OpenError};
pub use random::system_secret;
