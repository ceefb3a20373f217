//! `punctual.v1.Broker`: publishing and consuming.

use punctual_broker_api::{DelayMs, Error, NackRequest, ReceiveRequest};
use punctual_proto::{
    convert,
    status::to_status,
    v1::{self, broker_server},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::{
    context::{Context, answer},
    limits::{RECEIVE_BYTES_DEFAULT, REPLIES_BUFFERED_MAX},
    publish, subscribe,
};

pub(crate) struct BrokerService {
    context: Context,
}

impl BrokerService {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    async fn receive(&self, request: v1::ReceiveRequest) -> Result<v1::ReceiveReply, Error> {
        let request = receive_request(&request)?;
        let deliveries = self.context.unless_stopped(self.context.broker.receive(request)).await?;
        Ok(v1::ReceiveReply { messages: deliveries.into_iter().map(convert::delivery_into).collect() })
    }

    async fn ack(&self, request: v1::AckRequest) -> Result<v1::AckReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let outcomes = self.context.broker.ack(path, convert::receipts_from(&request.receipts)).await?;
        Ok(v1::AckReply { results: outcomes.into_iter().map(convert::ack_outcome_into).collect() })
    }

    async fn nack(&self, request: v1::NackRequest) -> Result<v1::NackReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let nack = nack_request(&request.receipts, request.delay_ms, request.error)?;
        let outcomes = self.context.broker.nack(path, nack).await?;
        Ok(v1::NackReply { results: outcomes.into_iter().map(convert::nack_outcome_into).collect() })
    }

    async fn release(&self, request: v1::ReleaseRequest) -> Result<v1::ReleaseReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let outcomes = self.context.broker.release(path, convert::receipts_from(&request.receipts)).await?;
        Ok(v1::ReleaseReply { results: outcomes.into_iter().map(convert::release_outcome_into).collect() })
    }

    async fn extend(&self, request: v1::ExtendRequest) -> Result<v1::ExtendReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let lease = convert::delay_from("lease", request.lease_ms)?;
        let outcomes = self.context.broker.extend(path, convert::receipts_from(&request.receipts), lease).await?;
        let (results, lease_expires_at_unix_ms) = convert::extend_outcomes_into(&outcomes);
        Ok(v1::ExtendReply { results, lease_expires_at_unix_ms })
    }
}

pub(crate) fn nack_request(
    receipts: &[String],
    delay_ms: Option<i64>,
    error: Option<String>,
) -> Result<NackRequest, Error> {
    let delay = convert::delay_from_optional("delay", delay_ms)?;
    Ok(NackRequest { receipts: convert::receipts_from(receipts), delay, error })
}

fn receive_request(request: &v1::ReceiveRequest) -> Result<ReceiveRequest, Error> {
    let max_bytes = match request.max_bytes {
        None => RECEIVE_BYTES_DEFAULT,
        Some(bytes) => u64::try_from(bytes).map_err(|_| {
            convert::invalid_field("max_bytes", format!("cannot receive {bytes} bytes: the number is negative"))
        })?,
    };
    let wait: DelayMs = convert::delay_from("wait", request.wait_ms)?;
    Ok(ReceiveRequest {
        subscription: convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?,
        max: request.max.max(1),
        max_bytes,
        wait,
        lease: convert::delay_from_optional("lease", request.lease_ms)?,
    })
}

#[tonic::async_trait]
impl broker_server::Broker for BrokerService {
    async fn publish(&self, request: Request<v1::PublishRequest>) -> Result<Response<v1::PublishReply>, Status> {
        let request = request.into_inner();
        let request_id = request.request_id;
        let results = publish::publish(&self.context, request).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(v1::PublishReply { request_id, results, error: None }))
    }

    type PublishStreamStream = ReceiverStream<Result<v1::PublishReply, Status>>;

    async fn publish_stream(
        &self,
        requests: Request<Streaming<v1::PublishRequest>>,
    ) -> Result<Response<Self::PublishStreamStream>, Status> {
        let (replies, receiver) = mpsc::channel(REPLIES_BUFFERED_MAX);
        tokio::spawn(publish::publish_stream(self.context.clone(), requests.into_inner(), replies));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    type SubscribeStream = ReceiverStream<Result<v1::SubscribeReply, Status>>;

    async fn subscribe(
        &self,
        requests: Request<Streaming<v1::SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let receiver = subscribe::subscribe(self.context.clone(), requests.into_inner()).await?;
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn receive(&self, request: Request<v1::ReceiveRequest>) -> Result<Response<v1::ReceiveReply>, Status> {
        answer(self.receive(request.into_inner()).await)
    }

    async fn ack(&self, request: Request<v1::AckRequest>) -> Result<Response<v1::AckReply>, Status> {
        answer(self.ack(request.into_inner()).await)
    }

    async fn nack(&self, request: Request<v1::NackRequest>) -> Result<Response<v1::NackReply>, Status> {
        answer(self.nack(request.into_inner()).await)
    }

    async fn release(&self, request: Request<v1::ReleaseRequest>) -> Result<Response<v1::ReleaseReply>, Status> {
        answer(self.release(request.into_inner()).await)
    }

    async fn extend(&self, request: Request<v1::ExtendRequest>) -> Result<Response<v1::ExtendReply>, Status> {
        answer(self.extend(request.into_inner()).await)
    }
}
