//! The trait, call by call.

use punctual_broker_api::{
    AckOutcome, Broker, CancelOutcome, ClockView, Consumer, DelayMs, DeliverNowOutcome, Delivery, Error, ExtendOutcome,
    Handle, Health, Limits, ListRequest, MessageId, MessageView, NackOutcome, NackRequest, NamespaceName,
    NamespacePatch, NamespaceView, NewMessage, Page, PageRequest, PreparedOutcome, Published, Put, Receipt,
    ReceiveRequest, RedriveRequest, ReleaseOutcome, Reply, RescheduleOutcome, SeekTo, SubscribeRequest,
    SubscriptionListRequest, SubscriptionPatch, SubscriptionPath, SubscriptionView, TimeRange, TimelineBucket,
    TimelineRequest, TopicPatch, TopicPath, TopicView, When,
};
use punctual_proto::{convert, v1};

use crate::{
    Client,
    consumer::RemoteConsumer,
    wire::{self, all_names, collect, names, page, put},
};

impl Broker for Client {
    fn publish(&self, topic: TopicPath, messages: Vec<NewMessage>) -> Reply<'_, Vec<Result<Published, Error>>> {
        let (namespace, topic) = names(&topic);
        let messages = messages.into_iter().map(convert::new_message_into).collect();
        let request = v1::PublishRequest { request_id: 0, namespace, topic, messages };
        Box::pin(async move {
            let reply = self.changed(self.broker().publish(request).await)?;
            Ok(reply.results.into_iter().map(convert::published_from).collect())
        })
    }

    fn receive(&self, request: ReceiveRequest) -> Reply<'_, Vec<Delivery>> {
        let request = wire::receive(&request);
        Box::pin(async move {
            let reply = self.asked(self.broker().receive(request).await)?;
            convert::deliveries_from(reply.messages)
        })
    }

    fn subscribe(&self, request: SubscribeRequest) -> Reply<'_, Box<dyn Consumer>> {
        Box::pin(async move {
            let consumer = RemoteConsumer::open(self.clone(), request).await?;
            Ok(Box::new(consumer) as Box<dyn Consumer>)
        })
    }

    fn ack(&self, path: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<AckOutcome>> {
        let (namespace, topic, subscription) = all_names(&path);
        let receipts = convert::receipts_into(&receipts);
        let request = v1::AckRequest { namespace, topic, subscription, receipts };
        Box::pin(async move {
            let reply = self.changed(self.broker().ack(request).await)?;
            collect(reply.results, convert::ack_outcome_from)
        })
    }

    fn nack(&self, path: SubscriptionPath, request: NackRequest) -> Reply<'_, Vec<NackOutcome>> {
        let (namespace, topic, subscription) = all_names(&path);
        let receipts = convert::receipts_into(&request.receipts);
        let delay_ms = request.delay.map(convert::delay_into);
        let request = v1::NackRequest { namespace, topic, subscription, receipts, delay_ms, error: request.error };
        Box::pin(async move {
            let reply = self.changed(self.broker().nack(request).await)?;
            collect(reply.results, convert::nack_outcome_from)
        })
    }

    fn release(&self, path: SubscriptionPath, receipts: Vec<Receipt>) -> Reply<'_, Vec<ReleaseOutcome>> {
        let (namespace, topic, subscription) = all_names(&path);
        let receipts = convert::receipts_into(&receipts);
        let request = v1::ReleaseRequest { namespace, topic, subscription, receipts };
        Box::pin(async move {
            let reply = self.changed(self.broker().release(request).await)?;
            collect(reply.results, convert::release_outcome_from)
        })
    }

    fn extend(&self, path: SubscriptionPath, receipts: Vec<Receipt>, lease: DelayMs) -> Reply<'_, Vec<ExtendOutcome>> {
        let (namespace, topic, subscription) = all_names(&path);
        let receipts = convert::receipts_into(&receipts);
        let lease_ms = convert::delay_into(lease);
        let request = v1::ExtendRequest { namespace, topic, subscription, receipts, lease_ms };
        Box::pin(async move {
            let reply = self.changed(self.broker().extend(request).await)?;
            convert::extend_outcomes_from(&reply.results, &reply.lease_expires_at_unix_ms)
        })
    }

    fn get(&self, topic: TopicPath, handle: Handle) -> Reply<'_, MessageView> {
        let (namespace, topic) = names(&topic);
        let (id, key, ordering_key) = convert::handle_into(handle);
        let request = v1::GetRequest { namespace, topic, id, key, ordering_key };
        Box::pin(async move { convert::view_from(self.asked(self.messages().get(request).await)?) })
    }

    fn cancel(&self, topic: TopicPath, handle: Handle) -> Reply<'_, CancelOutcome> {
        let (namespace, topic) = names(&topic);
        let (id, key, ordering_key) = convert::handle_into(handle);
        let request = v1::CancelRequest { namespace, topic, id, key, ordering_key };
        Box::pin(async move {
            let reply = self.changed(self.messages().cancel(request).await)?;
            convert::cancel_outcome_from(reply.outcome)
        })
    }

    fn reschedule(&self, topic: TopicPath, handle: Handle, when: When) -> Reply<'_, RescheduleOutcome> {
        let (namespace, topic) = names(&topic);
        let (id, key, ordering_key) = convert::handle_into(handle);
        // A reschedule has to name its time: now is no delay.
        let when = if when == When::Now { When::Delay(DelayMs::ZERO) } else { when };
        let (delay_ms, deliver_at_unix_ms, delay_level) = convert::when_into(when);
        let request = v1::RescheduleRequest {
            namespace,
            topic,
            id,
            key,
            ordering_key,
            delay_ms,
            deliver_at_unix_ms,
            delay_level,
        };
        Box::pin(
            async move { convert::reschedule_outcome_from(self.changed(self.messages().reschedule(request).await)?) },
        )
    }

    fn deliver_now(&self, topic: TopicPath, handle: Handle) -> Reply<'_, DeliverNowOutcome> {
        let (namespace, topic) = names(&topic);
        let (id, key, ordering_key) = convert::handle_into(handle);
        let request = v1::DeliverNowRequest { namespace, topic, id, key, ordering_key };
        Box::pin(async move {
            let reply = self.changed(self.messages().deliver_now(request).await)?;
            convert::deliver_now_outcome_from(reply.outcome)
        })
    }

    fn cancel_range(&self, topic: TopicPath, range: TimeRange) -> Reply<'_, u64> {
        let (namespace, topic) = names(&topic);
        let request = v1::CancelRangeRequest {
            namespace,
            topic,
            from_unix_ms: range.from.map(convert::time_into),
            to_unix_ms: range.to.map(convert::time_into),
            all: range == TimeRange::default(),
        };
        Box::pin(async move { Ok(self.changed(self.messages().cancel_range(request).await)?.cancelled) })
    }

    fn commit(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        let (namespace, topic) = names(&topic);
        let request = v1::CommitRequest { namespace, topic, id: id.as_str().to_owned() };
        Box::pin(async move {
            let reply = self.changed(self.messages().commit(request).await)?;
            convert::prepared_outcome_from(reply.outcome, reply.deliver_at_unix_ms)
        })
    }

    fn rollback(&self, topic: TopicPath, id: MessageId) -> Reply<'_, PreparedOutcome> {
        let (namespace, topic) = names(&topic);
        let request = v1::RollbackRequest { namespace, topic, id: id.as_str().to_owned() };
        Box::pin(async move {
            let reply = self.changed(self.messages().rollback(request).await)?;
            convert::prepared_outcome_from(reply.outcome, reply.deliver_at_unix_ms)
        })
    }

    fn list(&self, request: ListRequest) -> Reply<'_, Page<MessageView>> {
        let request = wire::list(request);
        Box::pin(async move {
            let reply = self.asked(self.messages().list(request).await)?;
            page(reply.messages, reply.next_cursor, convert::view_from)
        })
    }

    fn timeline(&self, request: TimelineRequest) -> Reply<'_, Vec<TimelineBucket>> {
        let request = wire::timeline(&request);
        Box::pin(async move {
            let reply = self.asked(self.messages().timeline(request).await)?;
            collect(reply.buckets, convert::timeline_bucket_from)
        })
    }

    fn list_topics(&self, namespace: NamespaceName, asked: PageRequest) -> Reply<'_, Page<TopicView>> {
        let namespace = namespace.as_str().to_owned();
        let request = v1::ListTopicsRequest { namespace, limit: asked.limit, cursor: asked.cursor };
        Box::pin(async move {
            let reply = self.asked(self.admin().list_topics(request).await)?;
            page(reply.topics, reply.next_cursor, convert::topic_view_from)
        })
    }

    fn get_topic(&self, topic: TopicPath) -> Reply<'_, TopicView> {
        let (namespace, topic) = names(&topic);
        let request = v1::GetTopicRequest { namespace, topic };
        Box::pin(async move { convert::topic_view_from(self.asked(self.admin().get_topic(request).await)?) })
    }

    fn put_topic(&self, topic: TopicPath, patch: TopicPatch) -> Reply<'_, Put<TopicView>> {
        let (namespace, topic) = names(&topic);
        let (settings, reset) = convert::topic_patch_into(patch);
        let request = v1::PutTopicRequest { namespace, topic, settings: Some(settings), reset };
        Box::pin(async move {
            let reply = self.changed(self.admin().put_topic(request).await)?;
            put(reply.topic, reply.created, convert::topic_view_from)
        })
    }

    fn delete_topic(&self, topic: TopicPath) -> Reply<'_, ()> {
        let (namespace, topic) = names(&topic);
        let request = v1::DeleteTopicRequest { namespace, topic };
        Box::pin(async move { self.changed(self.admin().delete_topic(request).await).map(|_| ()) })
    }

    fn list_subscriptions(&self, topic: TopicPath, asked: PageRequest) -> Reply<'_, Page<SubscriptionView>> {
        let (namespace, topic) = names(&topic);
        let request = v1::ListSubscriptionsRequest { namespace, topic, limit: asked.limit, cursor: asked.cursor };
        Box::pin(async move {
            let reply = self.asked(self.admin().list_subscriptions(request).await)?;
            page(reply.subscriptions, reply.next_cursor, convert::subscription_view_from)
        })
    }

    fn get_subscription(&self, path: SubscriptionPath) -> Reply<'_, SubscriptionView> {
        let (namespace, topic, subscription) = all_names(&path);
        let request = v1::GetSubscriptionRequest { namespace, topic, subscription };
        Box::pin(
            async move { convert::subscription_view_from(self.asked(self.admin().get_subscription(request).await)?) },
        )
    }

    fn put_subscription(&self, path: SubscriptionPath, patch: SubscriptionPatch) -> Reply<'_, Put<SubscriptionView>> {
        let (namespace, topic, subscription) = all_names(&path);
        let (settings, reset) = convert::subscription_patch_into(patch);
        let settings = Some(settings);
        let request = v1::PutSubscriptionRequest { namespace, topic, subscription, settings, reset };
        Box::pin(async move {
            let reply = self.changed(self.admin().put_subscription(request).await)?;
            put(reply.subscription, reply.created, convert::subscription_view_from)
        })
    }

    fn delete_subscription(&self, path: SubscriptionPath) -> Reply<'_, ()> {
        let (namespace, topic, subscription) = all_names(&path);
        let request = v1::DeleteSubscriptionRequest { namespace, topic, subscription };
        Box::pin(async move { self.changed(self.admin().delete_subscription(request).await).map(|_| ()) })
    }

    fn set_paused(&self, path: SubscriptionPath, paused: bool) -> Reply<'_, ()> {
        let (namespace, topic, subscription) = all_names(&path);
        Box::pin(async move {
            if paused {
                let request = v1::PauseRequest { namespace, topic, subscription };
                self.changed(self.admin().pause(request).await).map(|_| ())
            } else {
                let request = v1::ResumeRequest { namespace, topic, subscription };
                self.changed(self.admin().resume(request).await).map(|_| ())
            }
        })
    }

    fn seek(&self, path: SubscriptionPath, to: SeekTo) -> Reply<'_, ()> {
        let (namespace, topic, subscription) = all_names(&path);
        let (target, to_unix_ms) = match to {
            SeekTo::Earliest => (v1::SeekTarget::Earliest, None),
            SeekTo::Latest => (v1::SeekTarget::Latest, None),
            SeekTo::Time(time) => (v1::SeekTarget::Unspecified, Some(convert::time_into(time))),
        };
        let request = v1::SeekRequest { namespace, topic, subscription, to: target.into(), to_unix_ms };
        Box::pin(async move { self.changed(self.admin().seek(request).await).map(|_| ()) })
    }

    fn list_subscription_messages(&self, request: SubscriptionListRequest) -> Reply<'_, Page<MessageView>> {
        let request = wire::subscription_list(request);
        Box::pin(async move {
            let reply = self.asked(self.messages().list_subscription_messages(request).await)?;
            page(reply.messages, reply.next_cursor, convert::view_from)
        })
    }

    fn redrive(&self, path: SubscriptionPath, request: RedriveRequest) -> Reply<'_, u64> {
        let request = wire::redrive(&path, &request);
        Box::pin(async move { Ok(self.changed(self.admin().redrive(request).await)?.redriven) })
    }

    fn list_namespaces(&self, asked: PageRequest) -> Reply<'_, Page<NamespaceView>> {
        let request = v1::ListNamespacesRequest { limit: asked.limit, cursor: asked.cursor };
        Box::pin(async move {
            let reply = self.asked(self.admin().list_namespaces(request).await)?;
            page(reply.namespaces, reply.next_cursor, convert::namespace_view_from)
        })
    }

    fn get_namespace(&self, namespace: NamespaceName) -> Reply<'_, NamespaceView> {
        let request = v1::GetNamespaceRequest { namespace: namespace.as_str().to_owned() };
        Box::pin(async move { convert::namespace_view_from(self.asked(self.admin().get_namespace(request).await)?) })
    }

    fn put_namespace(&self, namespace: NamespaceName, patch: NamespacePatch) -> Reply<'_, Put<NamespaceView>> {
        let (settings, reset) = convert::namespace_patch_into(patch);
        let namespace = namespace.as_str().to_owned();
        let request = v1::PutNamespaceRequest { namespace, settings: Some(settings), reset };
        Box::pin(async move {
            let reply = self.changed(self.admin().put_namespace(request).await)?;
            put(reply.namespace, reply.created, convert::namespace_view_from)
        })
    }

    fn delete_namespace(&self, namespace: NamespaceName) -> Reply<'_, ()> {
        let request = v1::DeleteNamespaceRequest { namespace: namespace.as_str().to_owned() };
        Box::pin(async move { self.changed(self.admin().delete_namespace(request).await).map(|_| ()) })
    }

    fn clock(&self) -> Reply<'_, ClockView> {
        Box::pin(async move { convert::clock_from(self.asked(self.admin().get_clock(v1::GetClockRequest {}).await)?) })
    }

    fn advance_clock(&self, by: DelayMs) -> Reply<'_, ClockView> {
        let request = v1::AdvanceClockRequest { by_ms: convert::delay_into(by) };
        Box::pin(async move { convert::clock_from(self.changed(self.admin().advance_clock(request).await)?) })
    }

    fn accept_clock(&self) -> Reply<'_, ClockView> {
        let request = v1::AcceptClockRequest {};
        Box::pin(async move { convert::clock_from(self.changed(self.admin().accept_clock(request).await)?) })
    }

    fn health(&self) -> Reply<'_, Health> {
        Box::pin(async move {
            let status = self.asked(self.admin().get_status(v1::GetStatusRequest {}).await)?;
            convert::status_from(status).map(|(health, _)| health)
        })
    }

    /// The limits that the broker had when this client connected.
    fn limits(&self) -> Limits {
        self.known_limits()
    }
}
