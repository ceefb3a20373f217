//! One message: look, cancel, move, deliver now.

use std::sync::Arc;

use punctual_broker_api::{
    CancelOutcome, Code, DeliverNowOutcome, Error, Handle, MessageState, MessageView, RescheduleOutcome,
    SubscriptionMessageState, SubscriptionProgress, TopicPath, When,
};
use punctual_core::{
    Answer, CancelAnswer, Command, DeliverNowAnswer, FoundMessage, MessageHandle, PartitionId, RescheduleAnswer,
    format::MessageRecord,
};
use punctual_types::PartitionNumber;

use super::{
    Inner,
    receive::history_of,
    validate::{check_handle, due_of, due_refused},
};
use crate::catalog::Topic;

/// A message, found by its handle as far as that tells.
pub(super) struct Addressed {
    topic: Arc<Topic>,
    pub(super) partition: PartitionId,
    pub(super) handle: MessageHandle,
}

impl Inner {
    /// Where the message of a handle is to be asked for; `None` when the handle was never given
    /// out for this topic.
    pub(super) fn address(&self, path: &TopicPath, handle: &Handle) -> Result<Option<Addressed>, Error> {
        self.check_running()?;
        let topic = self.catalog().topic(path)?;
        let partitions = topic.settings.partitions;
        let (partition, handle) = match handle {
            Handle::Id(id) => match self.handles.message(id).filter(|message| message.partition.0 < partitions) {
                Some(message) => (message.partition, MessageHandle::Message(message)),
                None => return Ok(None),
            },
            Handle::Key { key, ordering_key } => {
                check_handle("key", key)?;
                if let Some(ordering_key) = ordering_key {
                    check_handle("ordering_key", ordering_key)?;
                }
                let by = ordering_key.as_ref().unwrap_or(key).as_bytes();
                let partition = PartitionNumber(self.hash.partition(by, partitions));
                (partition, MessageHandle::Key(self.hash.of(key.as_bytes())))
            }
        };
        let partition = PartitionId { topic: topic.number, partition };
        Ok(Some(Addressed { topic, partition, handle }))
    }

    pub(super) async fn ask_about(&self, at: &Addressed, command: Command) -> Result<Answer, Error> {
        let shard = at.topic.shard(at.partition, self.store.shards());
        self.shards.ask(shard, command, at.topic.answers()).await
    }

    pub(super) async fn get(self: &Arc<Self>, path: TopicPath, handle: Handle) -> Result<MessageView, Error> {
        let not_found = || {
            Error::new(
                Code::MessageNotFound,
                format!("topic `{}` has no such message, or it was settled and reclaimed", path.topic),
            )
        };
        let at = self.address(&path, &handle)?.ok_or_else(not_found)?;
        let command = Command::Get { partition: at.partition, handle: at.handle };
        match self.ask_about(&at, command).await? {
            Answer::Found(Some(found)) => Ok(self.view(&at.topic, *found)),
            _ => Err(not_found()),
        }
    }

    fn view(&self, topic: &Topic, found: FoundMessage) -> MessageView {
        let name = |progress: &punctual_core::SubscriptionProgress| {
            let named = topic.subscriptions.values().find(|it| it.number == progress.subscription)?;
            let state = match (progress.settled, progress.leased) {
                (true, _) => SubscriptionMessageState::Settled,
                (false, true) => SubscriptionMessageState::Leased,
                (false, false) => SubscriptionMessageState::Ready,
            };
            Some(SubscriptionProgress {
                subscription: named.name.to_string(),
                state,
                attempts: progress.attempts,
                lease_expires_at: None,
                retry_at: None,
            })
        };
        let subscriptions: Vec<_> = found.subscriptions.iter().filter_map(name).collect();
        let all_settled = !subscriptions.is_empty()
            && subscriptions.iter().all(|progress| progress.state == SubscriptionMessageState::Settled);
        let state = match (found.scheduled, all_settled) {
            _ if found.record.prepared.is_some() => MessageState::Prepared,
            (true, _) => MessageState::Scheduled,
            (false, true) => MessageState::Settled,
            (false, false) => MessageState::Ready,
        };
        MessageView { subscriptions, ..self.view_of(found.record, state, true) }
    }

    /// A stored message, looked at.
    pub(super) fn view_of(&self, record: MessageRecord, state: MessageState, with_body: bool) -> MessageView {
        MessageView {
            id: self.handles.id(record.message),
            state,
            body: with_body.then_some(record.body),
            key: record.key,
            dedup_id: record.dedup_id,
            ordering_key: record.ordering_key,
            tag: record.tag,
            headers: record.headers,
            priority: record.message.priority,
            expires_after: record.expires_after,
            published_at: record.published_at,
            deliver_at: record.deliver_at,
            subscriptions: Vec::new(),
            dead_letter: record.dead_letter.map(|dead| Box::new(history_of(dead))),
        }
    }

    pub(super) async fn cancel(self: &Arc<Self>, path: TopicPath, handle: Handle) -> Result<CancelOutcome, Error> {
        let Some(at) = self.address(&path, &handle)? else { return Ok(CancelOutcome::NotFound) };
        let command = Command::Cancel { partition: at.partition, handle: at.handle };
        Ok(match self.ask_about(&at, command).await? {
            Answer::Cancelled(CancelAnswer::Cancelled) => CancelOutcome::Cancelled,
            Answer::Cancelled(CancelAnswer::TooLate) => CancelOutcome::TooLate,
            _ => CancelOutcome::NotFound,
        })
    }

    pub(super) async fn reschedule(
        self: &Arc<Self>,
        path: TopicPath,
        handle: Handle,
        when: When,
    ) -> Result<RescheduleOutcome, Error> {
        let (due, max_delay) = {
            let catalog = self.catalog();
            let settings = &catalog.namespace(&path.namespace)?.settings;
            (due_of(when, &settings.delay_levels)?, settings.max_delay)
        };
        let Some(at) = self.address(&path, &handle)? else { return Ok(RescheduleOutcome::NotFound) };
        let command = Command::Reschedule { partition: at.partition, handle: at.handle, due, max_delay };
        match self.ask_about(&at, command).await? {
            Answer::Rescheduled(Ok(RescheduleAnswer::Rescheduled { due })) => {
                Ok(RescheduleOutcome::Rescheduled { deliver_at: due })
            }
            Answer::Rescheduled(Ok(RescheduleAnswer::TooLate)) => Ok(RescheduleOutcome::TooLate),
            Answer::Rescheduled(Err(refused)) => Err(due_refused(when, refused)),
            _ => Ok(RescheduleOutcome::NotFound),
        }
    }

    pub(super) async fn deliver_now(
        self: &Arc<Self>,
        path: TopicPath,
        handle: Handle,
    ) -> Result<DeliverNowOutcome, Error> {
        let Some(at) = self.address(&path, &handle)? else { return Ok(DeliverNowOutcome::NotFound) };
        let command = Command::DeliverNow { partition: at.partition, handle: at.handle };
        Ok(match self.ask_about(&at, command).await? {
            Answer::DeliveredNow(DeliverNowAnswer::DeliveredNow) => DeliverNowOutcome::DeliveredNow,
            Answer::DeliveredNow(DeliverNowAnswer::TooLate) => DeliverNowOutcome::TooLate,
            _ => DeliverNowOutcome::NotFound,
        })
    }
}
