//! The gRPC door of Punctual: `punctual.v1` over any [`punctual_broker_api::Broker`], with
//! reflection and `grpc.health.v1`.
//!
//! It turns messages into requests of `broker-api` and answers into messages, and keeps connections,
//! streams and requests in flight within the bounds of `limits`. It knows neither how a message is
//! kept nor what the other doors do.

mod admin;
mod body;
mod broker;
mod calls;
mod connection;
mod context;
mod door;
mod fault;
mod framing;
mod gateway;
mod health;
mod incoming;
pub mod limits;
mod memory;
mod messages;
mod metrics;
mod publish;
mod schedules;
mod seed;
mod subscribe;

pub use gateway::GrpcGateway;
pub use metrics::GrpcMetrics;
