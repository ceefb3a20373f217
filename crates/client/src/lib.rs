//! The Rust client of Punctual: a broker that is somewhere else, behind the same trait as the
//! embedded one.
//!
//! [`Client`] implements [`Broker`] over gRPC. It holds one connection, shared by its clones, and
//! makes it anew when it was lost. A call whose connection breaks before the answer fails with
//! `outcome_unknown` when it may have changed something, with `unreachable` when it only asked or
//! was never sent; nothing is repeated behind the caller's back.
//!
//! ```no_run
//! use punctual_client::{Client, ClientConfig, api::*};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect(ClientConfig::new("127.0.0.1:7801")).await?;
//! let orders = TopicPath { namespace: NamespaceName::default(), topic: TopicName::parse("orders")? };
//! let close_unless_paid = NewMessage {
//!     body: "order 42".into(),
//!     when: When::Delay(DelayMs::from_secs(15 * 60)),
//!     key: Some("42".to_owned()),
//!     ..NewMessage::default()
//! };
//! for result in client.publish(orders.clone(), vec![close_unless_paid]).await? {
//!     let published = result?;
//!     println!("{} is due at {}", published.id, published.deliver_at);
//! }
//! // Paid in time:
//! let order = Handle::Key { key: "42".to_owned(), ordering_key: None };
//! assert_eq!(client.cancel(orders, order).await?, CancelOutcome::Cancelled);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod broker;
mod client;
mod clock;
mod config;
mod consume;
mod consumer;
mod failure;
mod guard;
mod limits;
mod metrics;
mod names;
mod outbox;
mod publish;
mod random;
mod schedules;
mod trace;
mod wire;

pub use client::Client;
pub use clock::{Clock, SystemClock};
pub use config::ClientConfig;
pub use consume::{Failure, Lease, Leased, Stopper, Worker};
pub use guard::{
    Guarded, Idempotency, Marker, MarkerError, MarkerGuard, MemoryMarker, RowGuard, RowInserter, StateCheck, StateGuard,
};
pub use metrics::ClientMetrics;
pub use names::{subscription, topic};
pub use publish::{Producer, Publisher};
pub use trace::{CurrentTrace, TraceContext, current as current_trace};

#[doc(no_inline)]
pub use punctual_broker_api::{self as api, Broker, Error};
