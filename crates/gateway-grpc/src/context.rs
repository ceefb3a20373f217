//! What every service of this door needs: the broker, and whether the door stops.

use std::sync::Arc;

use punctual_broker_api::{Broker, Error};
use punctual_proto::status::to_status;
use tokio::sync::watch;
use tonic::{Response, Status};

use crate::{fault::shutting_down, metrics::GrpcMetrics};

/// Shared by the services; cloned into every stream.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) metrics: GrpcMetrics,
    stopping: watch::Receiver<bool>,
}

impl Context {
    pub(crate) fn new(broker: Arc<dyn Broker>, metrics: GrpcMetrics, stopping: watch::Receiver<bool>) -> Self {
        Self { broker, metrics, stopping }
    }

    /// Resolves when the door stops, at once when it has.
    pub(crate) async fn stopped(&self) {
        // An error means that the server is gone altogether.
        let _ = self.stopping.clone().wait_for(|stopping| *stopping).await;
    }

    /// Waits for what may take as long as a caller wishes, but not longer than the door is open.
    pub(crate) async fn unless_stopped<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::select! {
            answer = call => answer,
            () = self.stopped() => Err(shutting_down()),
        }
    }
}

/// An answer, or the status of an error.
pub(crate) fn answer<T>(result: Result<T, Error>) -> Result<Response<T>, Status> {
    match result {
        Ok(reply) => Ok(Response::new(reply)),
        Err(error) => Err(to_status(&error)),
    }
}
