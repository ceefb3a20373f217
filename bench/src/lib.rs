//! The load generator: it publishes, drains and does both at once against any broker, and says
//! how fast that went and what went wrong.
//!
//! Every body carries who sent it, its number, when and with which delay, and a checksum, so that
//! a message that is lost, early, delivered twice, altered or never sent is told from the others.
//! Time is this machine's monotonic clock alone: "early" means received before the publish was
//! invoked plus its delay, which no difference of clocks can feign. Memory is bounded by the
//! number of messages: a bit each per subscription.

mod body;
mod consumer;
mod delay;
mod deliver;
mod end_to_end;
pub mod limits;
mod oracle;
mod percentiles;
mod publish;
mod publisher;
mod random;
mod report;
mod stopwatch;
mod topics;

pub use delay::Delays;
pub use deliver::{DeliverOptions, deliver};
pub use end_to_end::{EndToEndOptions, end_to_end};
pub use publish::{PublishOptions, publish};
pub use publisher::Load;
pub use report::Report;
pub use topics::TopicPlan;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The broker refused what every run needs.
    #[error("{doing}: {error}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// What the broker said.
        error: punctual_broker_api::Error,
    },
    /// The options do not fit together.
    #[error("{0}")]
    Options(String),
}

impl BenchError {
    fn refused(doing: &'static str) -> impl FnOnce(punctual_broker_api::Error) -> Self {
        move |error| Self::Refused { doing, error }
    }
}
