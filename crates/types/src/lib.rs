//! The words that every room of Punctual shares.
//!
//! Times and positions, numbers and names, limits, and the vocabulary in which `core` tells a
//! store what to keep (`Write`) and what it must know (`Read`). Plain values: this crate knows no
//! clock, no store and no wire format, and its one dependency is `bytes`, so that a message body
//! is shared and not copied (docs/adr/0002-bytes-in-types.md).

mod batch;
mod duration;
mod index;
pub mod limits;
mod message_ref;
mod name;
mod numbers;
mod position;
mod read;
mod time;
mod timeline;

pub use batch::{Batch, Write};
pub use duration::{DurationError, parse_duration};
pub use index::{HashBits, IndexEntry, IndexKind, IndexPlace};
pub use message_ref::MessageRef;
pub use name::{NameError, NamespaceName, ScheduleName, SubscriptionName, TopicName};
pub use numbers::{
    Attempt, CommitNumber, ConsumerNumber, Epoch, Offset, PartitionNumber, Seq, ShardNumber, SubscriptionNumber,
    TopicNumber, placement,
};
pub use position::{Mark, Position};
pub use read::{Counted, Read, ReadReply, Record};
pub use time::{DelayMs, Now, Time};
pub use timeline::{Lane, TimelineId};
