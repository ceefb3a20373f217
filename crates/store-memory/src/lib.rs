//! A store in memory: sorted maps, a lock per shard, nothing clever.
//!
//! It is the reference of what a store means, so wherever fast and obvious differ it is obvious.
//! It survives nothing by itself; in *manual* mode a test decides when commits become durable and
//! can ask what a crash would have left ([`MemoryStore::crash`]).

mod kept;
mod log;
mod shard;
mod store;
mod timeline;

pub use store::MemoryStore;
