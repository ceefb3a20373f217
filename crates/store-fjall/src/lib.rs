//! A store on fjall: the first that survives a crash, and the one that others are compared with.
//!
//! One fjall database per data directory, three keyspaces in it (records, index, state), one
//! fjall batch per commit. What fjall does is used and not rewritten; around it stand the data
//! directory (format file, lock, sync before recovery), one syncer for all shards, a latch that
//! keeps the first failure, and the reclaiming of what lies below the floors. See
//! docs/adr/0004-fjall.md for why and docs/formats.md for the bytes.
//!
//! Nothing here knows what a record or a piece of state means.

mod commit;
mod count;
mod database;
mod directory;
mod failure;
mod floors;
mod keys;
pub mod limits;
mod options;
mod pending;
mod read;
mod reclaim;
mod shard;
mod store;
mod syncer;
mod test_doors;

pub use options::OpenOptions;
pub use store::FjallStore;
#[doc(hidden)]
pub use test_doors::Stored;
