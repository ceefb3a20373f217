//! The whole broker inside a Rust program.
//!
//! Opens a data directory (or keeps everything in memory), starts the broker over it, and is a
//! [`punctual_broker_api::Broker`] like the remote client: for tests, small tools and the binary
//! itself. This is the one place beside the binary that names a store.
//!
//! ```
//! use punctual_broker_api::{Broker as _, DelayMs, NewMessage, NamespaceName, ReceiveRequest, SubscriptionName, SubscriptionPath, TopicName, TopicPath, When};
//! use punctual_embedded::{Broker, ClockChoice, Config};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! // A clock that stands still until it is told: a timeout of 15 minutes is tested in a millisecond.
//! let broker = Broker::open(Config { clock: ClockChoice::manual(), ..Config::default() }).await?;
//! let topic = TopicPath { namespace: NamespaceName::default(), topic: TopicName::parse("order.timeout")? };
//! let subscription = SubscriptionPath { topic: topic.clone(), subscription: SubscriptionName::parse("closer")? };
//!
//! let order = NewMessage { body: "order 42".into(), when: When::Delay(DelayMs::from_secs(15 * 60)), ..NewMessage::default() };
//! broker.publish(topic, vec![order]).await?;
//!
//! let receive = ReceiveRequest { subscription, max: 10, max_bytes: 1 << 20, wait: DelayMs::ZERO, lease: None };
//! assert!(broker.receive(receive.clone()).await?.is_empty());
//! broker.advance_clock(DelayMs::from_secs(15 * 60)).await?;
//! assert_eq!(broker.receive(receive).await?[0].body, "order 42");
//! # broker.close().await?;
//! # Ok(())
//! # })
//! # }
//! ```

mod config;
mod delegate;
mod open;

pub use config::{ClockChoice, Config, StoreChoice};
pub use open::{Broker, OpenError};
