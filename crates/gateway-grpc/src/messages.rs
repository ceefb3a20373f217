//! `punctual.v1.Messages`: looking at and changing what is scheduled.

use punctual_broker_api::{Error, MessageId, MessageView, Page, TimelineRequest};
use punctual_proto::{
    convert,
    v1::{self, messages_server},
};
use punctual_types::limits::TIMELINE_BUCKET_MIN;
use tonic::{Request, Response, Status};

use crate::context::{Context, answer};

pub(crate) struct MessagesService {
    context: Context,
}

impl MessagesService {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    async fn get(&self, request: v1::GetRequest) -> Result<v1::MessageView, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let handle = convert::handle_from(request.id, request.key, request.ordering_key)?;
        self.context.broker.get(topic, handle).await.map(convert::view_into)
    }

    async fn list(&self, request: v1::ListRequest) -> Result<v1::ListReply, Error> {
        self.context.broker.list(convert::list_request_from(request)?).await.map(list_into)
    }

    async fn cancel(&self, request: v1::CancelRequest) -> Result<v1::CancelReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let handle = convert::handle_from(request.id, request.key, request.ordering_key)?;
        let outcome = self.context.broker.cancel(topic, handle).await?;
        Ok(v1::CancelReply { outcome: convert::cancel_outcome_into(outcome).into() })
    }

    async fn reschedule(&self, request: v1::RescheduleRequest) -> Result<v1::RescheduleReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let handle = convert::handle_from(request.id, request.key, request.ordering_key)?;
        let when = convert::required_when_from(request.delay_ms, request.deliver_at_unix_ms, request.delay_level)?;
        self.context.broker.reschedule(topic, handle, when).await.map(convert::reschedule_outcome_into)
    }

    async fn deliver_now(&self, request: v1::DeliverNowRequest) -> Result<v1::DeliverNowReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let handle = convert::handle_from(request.id, request.key, request.ordering_key)?;
        let outcome = self.context.broker.deliver_now(topic, handle).await?;
        Ok(v1::DeliverNowReply { outcome: convert::deliver_now_outcome_into(outcome).into() })
    }

    async fn cancel_range(&self, request: v1::CancelRangeRequest) -> Result<v1::CancelRangeReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let range = convert::cancel_range_from(&request)?;
        Ok(v1::CancelRangeReply { cancelled: self.context.broker.cancel_range(topic, range).await? })
    }

    async fn timeline(&self, request: v1::TimelineRequest) -> Result<v1::TimelineReply, Error> {
        let bucket = convert::delay_from_optional("bucket", request.bucket_ms)?.unwrap_or(TIMELINE_BUCKET_MIN);
        let request = TimelineRequest {
            topic: convert::topic_from(&request.namespace, &request.topic)?,
            range: convert::range_from(request.from_unix_ms, request.to_unix_ms)?,
            bucket,
        };
        let buckets = self.context.broker.timeline(request).await?;
        Ok(v1::TimelineReply { buckets: buckets.into_iter().map(convert::timeline_bucket_into).collect() })
    }

    async fn commit(&self, request: v1::CommitRequest) -> Result<v1::CommitReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        self.context.broker.commit(topic, prepared(&request.id)?).await.map(convert::commit_outcome_into)
    }

    async fn rollback(&self, request: v1::RollbackRequest) -> Result<v1::RollbackReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        self.context.broker.rollback(topic, prepared(&request.id)?).await.map(convert::rollback_outcome_into)
    }

    async fn list_subscription_messages(
        &self,
        request: v1::ListSubscriptionMessagesRequest,
    ) -> Result<v1::ListReply, Error> {
        let request = convert::subscription_list_from(request)?;
        self.context.broker.list_subscription_messages(request).await.map(list_into)
    }
}

/// The id of a prepared message, which is named in no other way.
fn prepared(id: &str) -> Result<MessageId, Error> {
    if id.is_empty() {
        return Err(convert::missing("id", "the request names no message: it has no `id`"));
    }
    Ok(MessageId::new(id))
}

fn list_into(page: Page<MessageView>) -> v1::ListReply {
    let messages = page.items.into_iter().map(convert::view_into).collect();
    v1::ListReply { messages, next_cursor: page.next_cursor }
}

#[tonic::async_trait]
impl messages_server::Messages for MessagesService {
    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::MessageView>, Status> {
        answer(self.get(request.into_inner()).await)
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListReply>, Status> {
        answer(self.list(request.into_inner()).await)
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Result<Response<v1::CancelReply>, Status> {
        answer(self.cancel(request.into_inner()).await)
    }

    async fn reschedule(
        &self,
        request: Request<v1::RescheduleRequest>,
    ) -> Result<Response<v1::RescheduleReply>, Status> {
        answer(self.reschedule(request.into_inner()).await)
    }

    async fn deliver_now(
        &self,
        request: Request<v1::DeliverNowRequest>,
    ) -> Result<Response<v1::DeliverNowReply>, Status> {
        answer(self.deliver_now(request.into_inner()).await)
    }

    async fn cancel_range(
        &self,
        request: Request<v1::CancelRangeRequest>,
    ) -> Result<Response<v1::CancelRangeReply>, Status> {
        answer(self.cancel_range(request.into_inner()).await)
    }

    async fn timeline(&self, request: Request<v1::TimelineRequest>) -> Result<Response<v1::TimelineReply>, Status> {
        answer(self.timeline(request.into_inner()).await)
    }

    async fn commit(&self, request: Request<v1::CommitRequest>) -> Result<Response<v1::CommitReply>, Status> {
        answer(self.commit(request.into_inner()).await)
    }

    async fn rollback(&self, request: Request<v1::RollbackRequest>) -> Result<Response<v1::RollbackReply>, Status> {
        answer(self.rollback(request.into_inner()).await)
    }

    async fn list_subscription_messages(
        &self,
        request: Request<v1::ListSubscriptionMessagesRequest>,
    ) -> Result<Response<v1::ListReply>, Status> {
        answer(self.list_subscription_messages(request.into_inner()).await)
    }
}
