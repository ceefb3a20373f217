//! The Rust client of Punctual.
//!
//! * [`Client`] is a broker that is somewhere else, behind the same trait ([`Broker`]) as the
//!   embedded one. Everything else here works over either.
//! * [`Producer`] publishes: a message, a batch, or a stream with many in flight ([`Publisher`]),
//!   each message with its trace.
//! * [`Worker`] consumes: it leases, extends, acks, nacks, reconnects and stops gracefully, and a
//!   handler is an async function.
//! * [`Idempotency`] keeps the second delivery of a message from having a second effect.
//! * [`TraceContext`] and [`ClientMetrics`] say what happened, in tracing spans that know the W3C
//!   trace of the message and in histograms for Prometheus.
//!
//! A client holds one connection, shared by its clones, and makes it anew when it was lost. A call
//! whose connection breaks before the answer fails with `outcome_unknown` when it may have changed
//! something, with `unreachable` when it only asked or was never sent; nothing is repeated behind
//! the caller's back, but by a worker, which asks only what may be asked twice.
//!
//! ```no_run
//! use punctual_client::{Client, ClientConfig, Leased, api::*, subscription, topic};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect(ClientConfig::new("127.0.0.1:7801")).await?;
//! let close_unless_paid = NewMessage {
//!     body: "order 42".into(),
//!     when: When::Delay(DelayMs::from_secs(15 * 60)),
//!     key: Some("42".to_owned()),
//!     ..NewMessage::default()
//! };
//! let published = client.producer(topic("orders")?).publish(close_unless_paid).await?;
//! println!("{} is due at {}", published.id, time_text::format_time(published.deliver_at));
//!
//! // Paid in time:
//! let order = Handle::Key { key: "42".to_owned(), ordering_key: None };
//! assert_eq!(client.cancel(topic("orders")?, order).await?, CancelOutcome::Cancelled);
//!
//! // Not paid in time: runs until it is stopped.
//! async fn close(order: Leased) -> Result<(), std::io::Error> {
//!     println!("closing {}", String::from_utf8_lossy(&order.body));
//!     Ok(())
//! }
//! client.consume(subscription("orders", "closing")?).concurrency(8).run(close).await?;
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
