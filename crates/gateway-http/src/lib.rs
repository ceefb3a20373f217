//! The HTTP door of Punctual: JSON in and out, NDJSON streams, the OpenAPI document.
//!
//! Turns requests into calls of [`punctual_broker_api::Broker`] and their answers into JSON. A
//! request is read within bounds of size, time and memory ([`limits`]), refused by field when it
//! is wrong, and answered with an `x-request-id` whatever happens. This crate knows no store, no
//! timeline and no other door, and decides nothing about messages.
//!
//! A request passes through `connection` (HTTP/1.1), `door` (id, token, body), `calls` (one
//! function per call), the broker, and `answer`; `call::ROUTES` is the one list of routes.

mod answer;
mod batch;
mod body;
mod call;
mod calls;
mod connection;
mod door;
mod error_pages;
mod json;
mod limits;
mod lines;
mod message;
mod metrics;
mod openapi;
mod origin;
mod path;
mod query;
mod refusal;
mod schedule_settings;
mod seed;
mod server;
mod settings;
mod stall;
#[cfg(test)]
mod tests;

pub use metrics::HttpMetrics;
pub use server::HttpGateway;
