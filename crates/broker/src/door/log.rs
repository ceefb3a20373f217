//! A topic as a log, for the doors of log-style protocols.

use std::sync::Arc;

use punctual_broker_api::{
    Code, Error, Log, LogOffsets, LogPartition, LogReadRequest, LogRecord, Reply, SubscriptionPatch, SubscriptionPath,
    Time, TopicPath,
};
use punctual_core::{Answer, Command, PartitionId, SubscriptionKind, format::MessageRecord};
use punctual_types::{Offset, PartitionNumber, SubscriptionNumber};

use super::{Broker, Inner, validate::check_range};
use crate::{
    catalog::{Subscription, Topic},
    shard::AnswerWhen,
};

/// Refuses what the other kind of subscription does.
pub(super) fn check_kind(subscription: &Subscription, wanted: SubscriptionKind) -> Result<(), Error> {
    let (is, does) = match subscription.kind {
        kind if kind == wanted => return Ok(()),
        SubscriptionKind::Shared => ("shared", "it leases messages and commits no offsets"),
        SubscriptionKind::Stream => ("a stream", "it commits offsets and leases no messages"),
    };
    let text = format!("subscription `{}` is {is}: {does}", subscription.name);
    Err(Error::new(Code::SubscriptionKind, text).with_field("subscription"))
}

impl Inner {
    fn log_partition(&self, path: &TopicPath, partition: u16) -> Result<(Arc<Topic>, PartitionId), Error> {
        self.check_running()?;
        let topic = self.catalog().topic(path)?;
        check_range("partition", partition, 0, topic.settings.partitions - 1)?;
        let partition = PartitionId { topic: topic.number, partition: PartitionNumber(partition) };
        Ok((topic, partition))
    }

    /// Asks a partition; what is answered is durable, also of topics that ask for less: an offset once shown
    /// must be the same after a crash.
    async fn ask_log(&self, topic: &Topic, partition: PartitionId, command: Command) -> Result<Answer, Error> {
        self.shards.ask(topic.shard(partition, self.store.shards()), command, AnswerWhen::Durable).await
    }

    async fn log_offsets(
        &self,
        at: LogPartition,
        subscription: Option<SubscriptionNumber>,
        time: Option<Time>,
    ) -> Result<punctual_core::LogOffsets, Error> {
        let (topic, partition) = self.log_partition(&at.topic, at.partition)?;
        let command = Command::LogOffsets { partition, subscription, at: time };
        match self.ask_log(&topic, partition, command).await? {
            Answer::LogOffsets(offsets) => Ok(offsets),
            _ => Err(deleted(&topic)),
        }
    }

    async fn read_log(&self, request: LogReadRequest) -> Result<Vec<LogRecord>, Error> {
        check_range("max", request.max, 1, self.limits.receive_messages_max)?;
        check_range("max_bytes", request.max_bytes, 1, self.limits.receive_bytes_max)?;
        let (topic, partition) = self.log_partition(&request.partition.topic, request.partition.partition)?;
        let (from, max, bytes_max) = (Offset(request.from_offset), request.max, request.max_bytes);
        let command = Command::ReadLog { partition, from, max, bytes_max };
        let Answer::LogRead(read) = self.ask_log(&topic, partition, command).await? else {
            return Err(deleted(&topic));
        };
        if from > read.next {
            return Err(beyond("from_offset", from, read.next));
        }
        let record = |(offset, record): (Offset, MessageRecord)| LogRecord {
            offset: offset.0,
            id: self.handles.id(record.message),
            body: record.body,
            key: record.key,
            ordering_key: record.ordering_key,
            tag: record.tag,
            headers: record.headers,
            published_at: record.published_at,
            deliver_at: record.deliver_at,
        };
        Ok(read.records.into_iter().map(record).collect())
    }

    /// A stream subscription, made with its topic when there is none.
    async fn stream_or_new(self: &Arc<Self>, path: &SubscriptionPath) -> Result<Arc<Subscription>, Error> {
        let found = self.catalog().subscription(path);
        let missing = |error: &Error| matches!(error.code, Code::TopicNotFound | Code::SubscriptionNotFound);
        let subscription = match found {
            Ok((_, subscription)) => subscription,
            Err(error) if missing(&error) && self.may_create(&path.topic)? => {
                self.make_subscription(path.clone(), SubscriptionPatch::default(), SubscriptionKind::Stream).await?;
                self.catalog().subscription(path)?.1
            }
            Err(error) => return Err(error),
        };
        check_kind(&subscription, SubscriptionKind::Stream)?;
        Ok(subscription)
    }

    async fn commit_offset(self: &Arc<Self>, path: SubscriptionPath, partition: u16, offset: u64) -> Result<(), Error> {
        let subscription = self.stream_or_new(&path).await?.number;
        let (topic, partition) = self.log_partition(&path.topic, partition)?;
        let command = Command::CommitOffset { partition, subscription, offset: Offset(offset) };
        match self.ask_log(&topic, partition, command).await? {
            Answer::OffsetCommitted(true) => Ok(()),
            Answer::OffsetCommitted(false) => {
                let at = LogPartition { topic: path.topic, partition: partition.partition.0 };
                Err(beyond("offset", Offset(offset), self.log_offsets(at, None, None).await?.next))
            }
            _ => Err(deleted(&topic)),
        }
    }

    async fn committed_offset(&self, path: SubscriptionPath, partition: u16) -> Result<Option<u64>, Error> {
        self.log_partition(&path.topic, partition)?;
        let found = self.catalog().subscription(&path);
        let Ok((_, subscription)) = found else { return Ok(None) };
        check_kind(&subscription, SubscriptionKind::Stream)?;
        let at = LogPartition { topic: path.topic, partition };
        let offsets = self.log_offsets(at, Some(subscription.number), None).await?;
        Ok(offsets.committed.map(|offset| offset.0))
    }
}

fn deleted(topic: &Topic) -> Error {
    Error::new(Code::TopicNotFound, format!("topic `{}` was deleted meanwhile", topic.name)).with_field("topic")
}

fn beyond(field: &str, offset: Offset, next: Offset) -> Error {
    Error::new(Code::InvalidField, format!("`{field}` is {offset}, the next offset to be given is {next}"))
        .with_field(field)
}

impl Log for Broker {
    fn partitions(&self, topic: TopicPath) -> Reply<'_, u16> {
        let found = self.inner.catalog().topic(&topic).map(|topic| topic.settings.partitions);
        Box::pin(std::future::ready(found))
    }

    fn offsets(&self, partition: LogPartition) -> Reply<'_, LogOffsets> {
        Box::pin(async {
            let offsets = self.inner.log_offsets(partition, None, None).await?;
            Ok(LogOffsets { earliest: offsets.earliest.0, next: offsets.next.0 })
        })
    }

    fn read(&self, request: LogReadRequest) -> Reply<'_, Vec<LogRecord>> {
        Box::pin(self.inner.read_log(request))
    }

    fn offset_at(&self, partition: LogPartition, time: Time) -> Reply<'_, u64> {
        Box::pin(async move { Ok(self.inner.log_offsets(partition, None, Some(time)).await?.at.0) })
    }

    fn commit_offset(&self, subscription: SubscriptionPath, partition: u16, offset: u64) -> Reply<'_, ()> {
        Box::pin(self.inner.commit_offset(subscription, partition, offset))
    }

    fn committed_offset(&self, subscription: SubscriptionPath, partition: u16) -> Reply<'_, Option<u64>> {
        Box::pin(self.inner.committed_offset(subscription, partition))
    }
}
