//! Publishing: checked one by one, sent to their partitions together.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use punctual_broker_api::{Code, Error, NewMessage, OnConflict, PublishStatus, Published, TopicPath, When};
use punctual_core::{Answer, Command, OnKeyConflict, PartitionId, Prepare, PublishAnswer, PublishItem, PublishRefusal};
use punctual_types::{DelayMs, MessageRef, PartitionNumber, Time};
use tokio::sync::oneshot;

use super::{
    Inner,
    quota::{Admitted, Gate},
    validate::{check_message, due_of, due_refused, message_bytes},
};
use crate::catalog::Topic;

/// Messages of one call for one partition, with their places in the call.
#[derive(Default)]
struct Part {
    places: Vec<usize>,
    whens: Vec<When>,
    items: Vec<PublishItem>,
}

type Begun = Result<oneshot::Receiver<Result<Answer, Error>>, Error>;

/// Messages of one call that are on their way to their shards.
struct Sent {
    /// By place in the call; what was refused before it left has its result already.
    results: Vec<Option<Result<Published, Error>>>,
    pending: Vec<(Vec<usize>, Vec<When>, Begun)>,
}

impl Inner {
    pub(super) async fn publish(
        self: &Arc<Self>,
        path: TopicPath,
        messages: Vec<NewMessage>,
    ) -> Result<Vec<Result<Published, Error>>, Error> {
        self.check_running()?;
        let bytes = self.check_batch(&messages)?;
        self.check_disk(bytes)?;
        let (levels, max_delay) = {
            let catalog = self.catalog();
            let settings = &catalog.namespace(&path.namespace)?.settings;
            (settings.delay_levels.clone(), settings.max_delay)
        };
        let begun = self.metrics.begin();
        let room = self.shards.reserve(bytes)?;
        let turn = self.making.turn(&path, || self.catalog().topic(&path).is_err()).await;
        let topic = self.topic_or_new(&path).await?;
        let in_doubt = match messages.iter().any(|message| message.prepare.is_some()) {
            true => self.ensure_in_doubt(&path).await,
            false => Ok(()),
        };
        let (sent, admitted) = self.send(&topic, messages, &levels, max_delay, &in_doubt);
        drop(turn);
        let results = self.answered(&topic, sent).await;
        drop(room);
        drop(admitted);
        self.metrics.published(begun);
        results
    }

    /// Checks the batch as a whole; answers its bytes.
    fn check_batch(&self, messages: &[NewMessage]) -> Result<usize, Error> {
        if messages.len() > self.limits.batch_messages_max {
            let text = format!(
                "cannot publish {} messages at once, the limit is {}",
                messages.len(),
                self.limits.batch_messages_max
            );
            return Err(Error::new(Code::BatchTooLarge, text).with_field("messages"));
        }
        let bytes: usize = messages.iter().map(message_bytes).sum();
        // One message may be as large as a message may be, whatever the limit of batches.
        if bytes > self.limits.batch_bytes_max && messages.len() > 1 {
            let text = format!("cannot publish {bytes} bytes at once, the limit is {}", self.limits.batch_bytes_max);
            return Err(Error::new(Code::BatchTooLarge, text).with_field("messages"));
        }
        Ok(bytes)
    }

    /// Sends the messages on their way to their shards, without waiting: publishes of one topic
    /// are taken in the order in which this is called.
    fn send(
        &self,
        topic: &Topic,
        messages: Vec<NewMessage>,
        levels: &[DelayMs],
        max_delay: Option<DelayMs>,
        in_doubt: &Result<(), Error>,
    ) -> (Sent, Option<Admitted<'_>>) {
        let mut gate = self.gate(&topic.namespace);
        let mut results: Vec<Option<Result<Published, Error>>> = messages.iter().map(|_| None).collect();
        let mut parts: BTreeMap<PartitionId, Part> = BTreeMap::new();
        for (place, message) in messages.into_iter().enumerate() {
            let checked = check_message(&message, topic.settings.priorities, &self.limits)
                .and_then(|()| if message.prepare.is_some() { in_doubt.clone() } else { Ok(()) })
                .and_then(|()| due_of(message.when, levels))
                .and_then(|due| match &mut gate {
                    Some(gate) => gate.admit(due, message.prepare.is_some()).map(|()| due),
                    None => Ok(due),
                });
            match checked {
                Ok(due) => {
                    let part = parts.entry(self.partition_of(topic, &message)).or_default();
                    part.places.push(place);
                    part.whens.push(message.when);
                    part.items.push(item_of(message, due));
                }
                Err(error) => put(&mut results, place, Err(error)),
            }
        }
        let mut pending = Vec::with_capacity(parts.len());
        for (partition, part) in parts {
            let shard = topic.shard(partition, self.store.shards());
            let command = Command::Publish { partition, items: part.items, max_delay };
            let begun = self.shards.begin_publish(shard, command, topic.answers());
            pending.push((part.places, part.whens, begun));
        }
        (Sent { results, pending }, gate.map(Gate::close))
    }

    /// Waits for the answers of what was sent and puts them into their places.
    async fn answered(&self, topic: &Topic, sent: Sent) -> Result<Vec<Result<Published, Error>>, Error> {
        let Sent { mut results, pending } = sent;
        for (places, whens, begun) in pending {
            let answer = match begun {
                Ok(receiver) => self.shards.end_publish(receiver).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(Answer::Published(answers)) => {
                    for ((place, when), answer) in places.into_iter().zip(whens).zip(answers) {
                        put(&mut results, place, self.published(answer, when));
                    }
                }
                Ok(_) => {
                    let text = format!("topic `{}` was deleted meanwhile", topic.name);
                    fill(&mut results, &places, &Error::new(Code::TopicNotFound, text).with_field("topic"));
                }
                Err(error) => fill(&mut results, &places, &error),
            }
        }
        let unanswered = || Err(Error::new(Code::Internal, "a message was not answered"));
        let results: Vec<_> = results.into_iter().map(|result| result.unwrap_or_else(unanswered)).collect();
        // When nothing at all was accepted for one and the same reason, that is the call's answer.
        let common = results.first().and_then(|result| result.as_ref().err());
        let whole = common.filter(|error| matches!(error.code, Code::Overloaded | Code::ShuttingDown));
        if let Some(error) = whole.filter(|error| results.iter().all(|result| result.as_ref().err() == Some(*error))) {
            return Err(error.clone());
        }
        Ok(results)
    }

    /// The partition of a message: by its ordering key, else its key, else its dedup id, else the
    /// next in turn.
    pub(super) fn partition_of(&self, topic: &Topic, message: &NewMessage) -> PartitionId {
        let handle = message.ordering_key.as_ref().or(message.key.as_ref()).or(message.dedup_id.as_ref());
        let partition = match handle {
            _ if topic.settings.partitions == 1 => 0,
            Some(handle) => self.hash.partition(handle.as_bytes(), topic.settings.partitions),
            None => {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed) % usize::from(topic.settings.partitions);
                u16::try_from(turn).unwrap_or(0)
            }
        };
        PartitionId { topic: topic.number, partition: PartitionNumber(partition) }
    }

    fn published(&self, answer: PublishAnswer, when: When) -> Result<Published, Error> {
        let published = |message: MessageRef, deliver_at: Time, status| {
            Ok(Published { id: self.handles.id(message), deliver_at, status })
        };
        match answer {
            PublishAnswer::Accepted { message, due } => published(message, due, PublishStatus::Accepted),
            PublishAnswer::Prepared { message, due } => published(message, due, PublishStatus::Prepared),
            PublishAnswer::Duplicate { message, due } => published(message, due, PublishStatus::Duplicate),
            PublishAnswer::Kept { message, due } => published(message, due, PublishStatus::Kept),
            PublishAnswer::Replaced { message, due, replaced } => {
                published(message, due, PublishStatus::Replaced { replaced_id: self.handles.id(replaced) })
            }
            PublishAnswer::Refused(PublishRefusal::Due(refused)) => Err(due_refused(when, refused)),
            PublishAnswer::Refused(PublishRefusal::KeyConflict { message, due }) => {
                let time = punctual_broker_api::time_text::format_time(due);
                let text =
                    format!("message `{}` with this key is already scheduled for {time}", self.handles.id(message));
                Err(Error::new(Code::KeyConflict, text)
                    .with_field("key")
                    .with_hint("set `on_conflict` to `replace` or `keep`, or cancel the scheduled message first"))
            }
        }
    }
}

pub(super) fn item_of(message: NewMessage, due: punctual_core::Due) -> PublishItem {
    PublishItem {
        due,
        body: message.body,
        key: message.key,
        on_conflict: match message.on_conflict {
            OnConflict::Reject => OnKeyConflict::Reject,
            OnConflict::Replace => OnKeyConflict::Replace,
            OnConflict::Keep => OnKeyConflict::Keep,
        },
        dedup_id: message.dedup_id,
        ordering_key: message.ordering_key,
        tag: message.tag,
        headers: message.headers,
        priority: message.priority,
        expires_after: message.expires_after,
        prepare: message.prepare.map(|it| Prepare { timeout: it.timeout, max_checks: it.max_checks }),
    }
}

fn put(results: &mut [Option<Result<Published, Error>>], place: usize, result: Result<Published, Error>) {
    if let Some(slot) = results.get_mut(place) {
        *slot = Some(result);
    }
}

fn fill(results: &mut [Option<Result<Published, Error>>], places: &[usize], error: &Error) {
    for place in places {
        put(results, *place, Err(error.clone()));
    }
}
