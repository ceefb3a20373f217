//! The shard runtime: commands in batches, one commit for them, answers when they are safe.

mod board;
mod credit;
mod durability;
mod feed;
mod forward;
mod limits;
mod offers;
mod ready_buffer;
mod request;
mod shards;
mod turn;
mod worker;

pub(crate) use board::Board;
pub(crate) use credit::Credit;
pub(crate) use feed::Feed;
pub(crate) use request::{AnswerWhen, Batch, Request, SubscriptionAt, Waiter};
pub(crate) use shards::{Shards, ShardsConfig};
