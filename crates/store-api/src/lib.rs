//! The seam between shards and stores.
//!
//! A store keeps timelines: records ordered by position, index entries, and a shard's named
//! state. The trait is cut to what timelines need and is not a general key-value interface, so
//! that a store may exploit that records are written once, read in due order, and dropped in
//! bulk behind a floor. Nothing here knows what a record means.
//!
//! What every store promises, and `testing` checks:
//! * a batch is visible whole or not at all, and after a crash present whole or not at all;
//! * commits of one shard become durable in the order in which they were written: when one is
//!   durable, so are all before it;
//! * a read sees every commit that was written before it was asked;
//! * after the first failed write or sync nothing is answered as written or durable any more.

mod directory_format;
mod durable;
mod error;
mod latch;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use directory_format::{DirectoryFormat, FormatRefused};
pub use durable::Durable;
pub use error::{StoreError, Unusable};
pub use futures_util::future::BoxFuture;
pub use latch::Latch;
pub use store::{ShardStore, Store, StoreUsage, SyncObserver};
