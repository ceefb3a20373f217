//! `grpc.health.v1`: the broker's own word on whether requests make sense.

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use punctual_broker_api::Health;
use tokio::time::{MissedTickBehavior, interval};
use tonic::{Request, Response, Status};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_server};

use crate::{context::Context, limits::HEALTH_WATCH_INTERVAL};

/// Everything under its empty name, and our services, which live and die together.
const SERVICES: [&str; 4] = ["", "punctual.v1.Broker", "punctual.v1.Messages", "punctual.v1.Admin"];

pub(crate) struct HealthService {
    context: Context,
}

impl HealthService {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }
}

async fn status(context: &Context) -> ServingStatus {
    match context.broker.health().await {
        Ok(Health::Ready) => ServingStatus::Serving,
        Ok(Health::Stopping | Health::Failed(_)) | Err(_) => ServingStatus::NotServing,
    }
}

fn reply(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

#[tonic::async_trait]
impl health_server::Health for HealthService {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        if !SERVICES.contains(&request.get_ref().service.as_str()) {
            return Err(Status::not_found("there is no such service"));
        }
        Ok(Response::new(reply(status(&self.context).await)))
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    /// The status now, and whenever it has changed; ends when the door stops.
    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        if !SERVICES.contains(&request.get_ref().service.as_str()) {
            let unknown = stream::once(std::future::ready(Ok(reply(ServingStatus::ServiceUnknown))));
            return Ok(Response::new(unknown.chain(stream::pending()).boxed()));
        }
        let context = self.context.clone();
        let mut ticks = interval(HEALTH_WATCH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let changes = stream::unfold((context, ticks, None), |(context, mut ticks, told)| async move {
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = context.stopped() => return None,
                }
                let now = status(&context).await;
                if told != Some(now) {
                    return Some((Ok(reply(now)), (context, ticks, Some(now))));
                }
            }
        });
        Ok(Response::new(changes.boxed()))
    }
}
