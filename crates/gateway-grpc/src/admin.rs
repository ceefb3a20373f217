//! `punctual.v1.Admin`: namespaces, topics, subscriptions, the clock.

use punctual_broker_api::{Code, Error, NamespaceName};
use punctual_proto::{
    convert,
    v1::{self, admin_server},
};
use tonic::{Request, Response, Status};

use crate::context::{Context, answer};

pub(crate) struct AdminService {
    context: Context,
}

/// The namespace that a call is about: unlike a topic's it has to be named.
fn named_namespace(name: &str) -> Result<NamespaceName, Error> {
    if name.is_empty() {
        return Err(Error::new(Code::MalformedRequest, "the request names no namespace").with_field("namespace"));
    }
    convert::namespace_from(name)
}

impl AdminService {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    async fn list_namespaces(&self, request: v1::ListNamespacesRequest) -> Result<v1::ListNamespacesReply, Error> {
        let page = self.context.broker.list_namespaces(convert::page_from(request.limit, request.cursor)).await?;
        let namespaces = page.items.into_iter().map(convert::namespace_view_into).collect();
        Ok(v1::ListNamespacesReply { namespaces, next_cursor: page.next_cursor })
    }

    async fn get_namespace(&self, request: v1::GetNamespaceRequest) -> Result<v1::Namespace, Error> {
        let namespace = named_namespace(&request.namespace)?;
        self.context.broker.get_namespace(namespace).await.map(convert::namespace_view_into)
    }

    async fn put_namespace(&self, request: v1::PutNamespaceRequest) -> Result<v1::PutNamespaceReply, Error> {
        let namespace = named_namespace(&request.namespace)?;
        let patch = convert::namespace_patch_from(request.settings, request.reset)?;
        let put = self.context.broker.put_namespace(namespace, patch).await?;
        let namespace = Some(convert::namespace_view_into(put.object));
        Ok(v1::PutNamespaceReply { namespace, created: put.created })
    }

    async fn delete_namespace(&self, request: v1::DeleteNamespaceRequest) -> Result<v1::DeleteNamespaceReply, Error> {
        let namespace = named_namespace(&request.namespace)?;
        self.context.broker.delete_namespace(namespace).await?;
        Ok(v1::DeleteNamespaceReply {})
    }

    async fn list_topics(&self, request: v1::ListTopicsRequest) -> Result<v1::ListTopicsReply, Error> {
        let namespace = convert::namespace_from(&request.namespace)?;
        let page = convert::page_from(request.limit, request.cursor);
        let page = self.context.broker.list_topics(namespace, page).await?;
        let topics = page.items.into_iter().map(convert::topic_view_into).collect();
        Ok(v1::ListTopicsReply { topics, next_cursor: page.next_cursor })
    }

    async fn get_topic(&self, request: v1::GetTopicRequest) -> Result<v1::Topic, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        self.context.broker.get_topic(topic).await.map(convert::topic_view_into)
    }

    async fn put_topic(&self, request: v1::PutTopicRequest) -> Result<v1::PutTopicReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let patch = convert::topic_patch_from(request.settings, request.reset)?;
        let put = self.context.broker.put_topic(topic, patch).await?;
        Ok(v1::PutTopicReply { topic: Some(convert::topic_view_into(put.object)), created: put.created })
    }

    async fn delete_topic(&self, request: v1::DeleteTopicRequest) -> Result<v1::DeleteTopicReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        self.context.broker.delete_topic(topic).await?;
        Ok(v1::DeleteTopicReply {})
    }

    async fn list_subscriptions(
        &self,
        request: v1::ListSubscriptionsRequest,
    ) -> Result<v1::ListSubscriptionsReply, Error> {
        let topic = convert::topic_from(&request.namespace, &request.topic)?;
        let page = convert::page_from(request.limit, request.cursor);
        let page = self.context.broker.list_subscriptions(topic, page).await?;
        let subscriptions = page.items.into_iter().map(convert::subscription_view_into).collect();
        Ok(v1::ListSubscriptionsReply { subscriptions, next_cursor: page.next_cursor })
    }

    async fn get_subscription(&self, request: v1::GetSubscriptionRequest) -> Result<v1::Subscription, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        self.context.broker.get_subscription(path).await.map(convert::subscription_view_into)
    }

    async fn put_subscription(&self, request: v1::PutSubscriptionRequest) -> Result<v1::PutSubscriptionReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let patch = convert::subscription_patch_from(request.settings, request.reset)?;
        let put = self.context.broker.put_subscription(path, patch).await?;
        let subscription = Some(convert::subscription_view_into(put.object));
        Ok(v1::PutSubscriptionReply { subscription, created: put.created })
    }

    async fn delete_subscription(
        &self,
        request: v1::DeleteSubscriptionRequest,
    ) -> Result<v1::DeleteSubscriptionReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        self.context.broker.delete_subscription(path).await?;
        Ok(v1::DeleteSubscriptionReply {})
    }

    async fn pause(&self, request: v1::PauseRequest) -> Result<v1::PauseReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        self.context.broker.set_paused(path, true).await?;
        Ok(v1::PauseReply {})
    }

    async fn resume(&self, request: v1::ResumeRequest) -> Result<v1::ResumeReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        self.context.broker.set_paused(path, false).await?;
        Ok(v1::ResumeReply {})
    }

    async fn seek(&self, request: v1::SeekRequest) -> Result<v1::SeekReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let to = convert::seek_from(request.to, request.to_unix_ms)?;
        self.context.broker.seek(path, to).await?;
        Ok(v1::SeekReply {})
    }

    async fn redrive(&self, request: v1::RedriveRequest) -> Result<v1::RedriveReply, Error> {
        let path = convert::subscription_from(&request.namespace, &request.topic, &request.subscription)?;
        let selection = convert::redrive_from(request.max, request.ids, request.from_unix_ms, request.to_unix_ms)?;
        Ok(v1::RedriveReply { redriven: self.context.broker.redrive(path, selection).await? })
    }

    async fn get_clock(&self, request: v1::GetClockRequest) -> Result<v1::Clock, Error> {
        let v1::GetClockRequest {} = request;
        self.context.broker.clock().await.map(convert::clock_into)
    }

    async fn advance_clock(&self, request: v1::AdvanceClockRequest) -> Result<v1::Clock, Error> {
        let by = convert::delay_from("by", request.by_ms)?;
        self.context.broker.advance_clock(by).await.map(convert::clock_into)
    }

    async fn accept_clock(&self, request: v1::AcceptClockRequest) -> Result<v1::Clock, Error> {
        let v1::AcceptClockRequest {} = request;
        self.context.broker.accept_clock().await.map(convert::clock_into)
    }

    async fn get_status(&self, request: v1::GetStatusRequest) -> Result<v1::Status, Error> {
        let v1::GetStatusRequest {} = request;
        let health = self.context.broker.health().await?;
        Ok(convert::health_into(health, self.context.broker.limits()))
    }
}

#[tonic::async_trait]
impl admin_server::Admin for AdminService {
    async fn list_namespaces(
        &self,
        request: Request<v1::ListNamespacesRequest>,
    ) -> Result<Response<v1::ListNamespacesReply>, Status> {
        answer(self.list_namespaces(request.into_inner()).await)
    }

    async fn get_namespace(
        &self,
        request: Request<v1::GetNamespaceRequest>,
    ) -> Result<Response<v1::Namespace>, Status> {
        answer(self.get_namespace(request.into_inner()).await)
    }

    async fn put_namespace(
        &self,
        request: Request<v1::PutNamespaceRequest>,
    ) -> Result<Response<v1::PutNamespaceReply>, Status> {
        answer(self.put_namespace(request.into_inner()).await)
    }

    async fn delete_namespace(
        &self,
        request: Request<v1::DeleteNamespaceRequest>,
    ) -> Result<Response<v1::DeleteNamespaceReply>, Status> {
        answer(self.delete_namespace(request.into_inner()).await)
    }

    async fn list_topics(
        &self,
        request: Request<v1::ListTopicsRequest>,
    ) -> Result<Response<v1::ListTopicsReply>, Status> {
        answer(self.list_topics(request.into_inner()).await)
    }

    async fn get_topic(&self, request: Request<v1::GetTopicRequest>) -> Result<Response<v1::Topic>, Status> {
        answer(self.get_topic(request.into_inner()).await)
    }

    async fn put_topic(&self, request: Request<v1::PutTopicRequest>) -> Result<Response<v1::PutTopicReply>, Status> {
        answer(self.put_topic(request.into_inner()).await)
    }

    async fn delete_topic(
        &self,
        request: Request<v1::DeleteTopicRequest>,
    ) -> Result<Response<v1::DeleteTopicReply>, Status> {
        answer(self.delete_topic(request.into_inner()).await)
    }

    async fn list_subscriptions(
        &self,
        request: Request<v1::ListSubscriptionsRequest>,
    ) -> Result<Response<v1::ListSubscriptionsReply>, Status> {
        answer(self.list_subscriptions(request.into_inner()).await)
    }

    async fn get_subscription(
        &self,
        request: Request<v1::GetSubscriptionRequest>,
    ) -> Result<Response<v1::Subscription>, Status> {
        answer(self.get_subscription(request.into_inner()).await)
    }

    async fn put_subscription(
        &self,
        request: Request<v1::PutSubscriptionRequest>,
    ) -> Result<Response<v1::PutSubscriptionReply>, Status> {
        answer(self.put_subscription(request.into_inner()).await)
    }

    async fn delete_subscription(
        &self,
        request: Request<v1::DeleteSubscriptionRequest>,
    ) -> Result<Response<v1::DeleteSubscriptionReply>, Status> {
        answer(self.delete_subscription(request.into_inner()).await)
    }

    async fn pause(&self, request: Request<v1::PauseRequest>) -> Result<Response<v1::PauseReply>, Status> {
        answer(self.pause(request.into_inner()).await)
    }

    async fn resume(&self, request: Request<v1::ResumeRequest>) -> Result<Response<v1::ResumeReply>, Status> {
        answer(self.resume(request.into_inner()).await)
    }

    async fn seek(&self, request: Request<v1::SeekRequest>) -> Result<Response<v1::SeekReply>, Status> {
        answer(self.seek(request.into_inner()).await)
    }

    async fn redrive(&self, request: Request<v1::RedriveRequest>) -> Result<Response<v1::RedriveReply>, Status> {
        answer(self.redrive(request.into_inner()).await)
    }

    async fn get_clock(&self, request: Request<v1::GetClockRequest>) -> Result<Response<v1::Clock>, Status> {
        answer(self.get_clock(request.into_inner()).await)
    }

    async fn advance_clock(&self, request: Request<v1::AdvanceClockRequest>) -> Result<Response<v1::Clock>, Status> {
        answer(self.advance_clock(request.into_inner()).await)
    }

    async fn accept_clock(&self, request: Request<v1::AcceptClockRequest>) -> Result<Response<v1::Clock>, Status> {
        answer(self.accept_clock(request.into_inner()).await)
    }

    async fn get_status(&self, request: Request<v1::GetStatusRequest>) -> Result<Response<v1::Status>, Status> {
        answer(self.get_status(request.into_inner()).await)
    }
}
