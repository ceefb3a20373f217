//! Looking at what a subscription still has to do, without leasing it.

use std::sync::Arc;

use punctual_broker_api::{
    Error, MessageState, MessageView, Page, SubscriptionListRequest, SubscriptionListState, SubscriptionMessageState,
    SubscriptionProgress,
};
use punctual_core::{Answer, Command, format::MessageRecord};
use punctual_types::{Lane, Position, Record, TimelineId, limits};

use super::{
    Inner,
    cursor::{after_message, read_message},
    validate::{check_range, not_supported},
};
use crate::catalog::{Subscription, Topic};

impl Inner {
    pub(super) async fn list_subscription_messages(
        self: &Arc<Self>,
        request: SubscriptionListRequest,
    ) -> Result<Page<MessageView>, Error> {
        check_range("limit", request.limit, 1, limits::PAGE_MAX)?;
        let (topic, subscription) = self.catalog().subscription(&request.subscription)?;
        match request.state {
            // An ordered subscription tries again in place: what waits there is not on a timeline.
            SubscriptionListState::Retrying if !subscription.settings.ordered => {}
            SubscriptionListState::Retrying
            | SubscriptionListState::Ready
            | SubscriptionListState::Leased
            | SubscriptionListState::Dead => return Err(not_supported("state")),
        }
        let query = [&b"retrying "[..], &subscription.number.0.to_be_bytes()].concat();
        let from = request.cursor.as_ref().map(|cursor| read_message(&self.hash, &query, cursor)).transpose()?;
        let lines = self.retry_lines(&topic, &subscription).await?;
        let all = (Position::MIN, Position::MAX);
        let (found, last) = self.page_ahead(&topic, lines, all, from, request.limit).await?;
        let next_cursor = last.map(|last| after_message(&self.hash, &query, last));
        let view = |record| self.retrying(&subscription, record, request.with_body);
        Ok(Page { items: found.into_iter().filter_map(view).collect(), next_cursor })
    }

    /// The subscription's retry timelines, with where their lines stand.
    async fn retry_lines(
        &self,
        topic: &Topic,
        subscription: &Subscription,
    ) -> Result<Vec<(TimelineId, Position)>, Error> {
        let mut lines = Vec::new();
        for partition in topic.partitions() {
            let timeline = partition.lane(Lane::Retry(subscription.number));
            let shard = topic.shard(partition, self.store.shards());
            let answer = self.shards.ask(shard, Command::Line { timeline }, topic.answers()).await?;
            if let Answer::Line { line, .. } = answer {
                lines.push((timeline, line));
            }
        }
        Ok(lines)
    }

    fn retrying(&self, subscription: &Subscription, record: Record, with_body: bool) -> Option<MessageView> {
        let retry_at = record.position.due;
        let record = MessageRecord::decode(record.value).ok()?;
        let progress = SubscriptionProgress {
            subscription: subscription.name.to_string(),
            state: SubscriptionMessageState::Retrying,
            attempts: record.attempts,
            lease_expires_at: None,
            retry_at: Some(retry_at),
        };
        Some(MessageView { subscriptions: vec![progress], ..self.view_of(record, MessageState::Ready, with_body) })
    }
}
