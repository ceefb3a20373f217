//! Looking at what is pending, and cancelling ranges of it.
//!
//! A look reads the store beside the shard, so that a long one holds nobody up; the shard is asked
//! before for its line, and once more after, since what was seen may rest on writes that are not
//! yet safe.

use std::{collections::BTreeMap, sync::Arc};

use punctual_broker_api::{
    Code, Error, ListRequest, MessageState, MessageView, Page, TimeRange, TimelineBucket, TimelineRequest, TopicPath,
};
use punctual_core::{Answer, Command, PartitionId, format::MessageRecord};
use punctual_types::{Position, Read, ReadReply, Record, Seq, Time, TimelineId, limits};

use super::{
    Inner,
    cursor::{After, after_message, read_message},
    validate::check_range,
};
use crate::catalog::Topic;

/// Bytes of records that a page reads of one partition at most.
const PAGE_BYTES_MAX: u64 = 4 << 20;

/// A range of due times as positions: after the first, up to the second.
fn bounds(range: TimeRange) -> (Position, Position) {
    let after = range.from.map_or(Position::MIN, Position::before);
    (after, range.to.map_or(Position::MAX, Position::before))
}

impl Inner {
    /// The timelines of a partition, one for each priority in use, with where their lines stand,
    /// and the highest number given.
    async fn lines(&self, topic: &Topic, partition: PartitionId) -> Result<(Vec<(TimelineId, Position)>, Seq), Error> {
        let shard = topic.shard(partition, self.store.shards());
        match self.shards.ask(shard, Command::Lines { partition }, topic.answers()).await? {
            Answer::Lines { lines, last_seq } => Ok((lines, last_seq)),
            _ => Ok((Vec::new(), Seq(0))),
        }
    }

    /// The same of all partitions of a topic.
    async fn all_lines(&self, topic: &Topic) -> Result<Vec<(TimelineId, Position)>, Error> {
        let mut all = Vec::new();
        for partition in topic.partitions() {
            all.extend(self.lines(topic, partition).await?.0);
        }
        Ok(all)
    }

    async fn read_beside(&self, topic: &Topic, partition: PartitionId, read: Read) -> Result<Option<ReadReply>, Error> {
        let shard = topic.shard(partition, self.store.shards());
        let Some(store) = self.shards.store(shard) else { return Ok(None) };
        let replies = store.read(vec![read]).await;
        let mut replies = replies.map_err(|error| {
            Error::new(Code::Internal, format!("cannot read what is scheduled in topic `{}`: {error}", topic.name))
        })?;
        Ok(replies.pop())
    }

    pub(super) async fn list(self: &Arc<Self>, request: ListRequest) -> Result<Page<MessageView>, Error> {
        check_range("limit", request.limit, 1, limits::PAGE_MAX)?;
        let topic = self.catalog().topic(&request.topic)?;
        let query = query_of(&topic, &request);
        let from = request.cursor.as_ref().map(|cursor| read_message(&self.hash, &query, cursor)).transpose()?;
        let lines = self.all_lines(&topic).await?;
        let (found, last) = self.page_ahead(&topic, lines, bounds(request.range), from, request.limit).await?;
        let next_cursor = last.map(|last| after_message(&self.hash, &query, last));
        let items = found.into_iter().filter_map(|record| self.view_if_meant(record, &request)).collect();
        Ok(Page { items, next_cursor })
    }

    /// A page of what lies ahead of some lines of a topic, over all of them in due order, and where it
    /// ended if there may be more.
    pub(super) async fn page_ahead(
        &self,
        topic: &Topic,
        lines: Vec<(TimelineId, Position)>,
        (after, to): (Position, Position),
        from: Option<After>,
        limit: u32,
    ) -> Result<(Vec<Record>, Option<After>), Error> {
        let mut found: Vec<(After, Record)> = Vec::new();
        let mut horizon = None;
        // All timelines together read about a page's bytes, and each something.
        let share = PAGE_BYTES_MAX / (lines.len() as u64).max(1);
        for (timeline, line) in lines {
            let partition = PartitionId::from(timeline);
            let start = from.map_or(Position::MIN, |from| from.position_in(partition.partition)).max(after).max(line);
            if start >= to {
                continue;
            }
            let bytes_max = share.max(1);
            let read = Read::Window { timeline, after: start, to, limit, bytes_max, values: true };
            let Some(ReadReply::Records(records)) = self.read_beside(topic, partition, read).await? else { continue };
            let ended_early = !records.is_empty();
            let place =
                |position: Position| After { due: position.due, partition: partition.partition, seq: position.seq };
            // What lies past the end of one timeline's window may still be missing: the page ends
            // where the first window did.
            if ended_early && let Some(last) = records.last().map(|record| place(record.position)) {
                let full = records.len() as u64 >= u64::from(limit)
                    || records.iter().map(|record| record.value.len() as u64).sum::<u64>() >= bytes_max;
                if full {
                    horizon = Some(horizon.map_or(last, |horizon: After| horizon.min(last)));
                }
            }
            found.extend(records.into_iter().map(|record| (place(record.position), record)));
        }
        self.barrier(topic).await?;
        found.sort_by_key(|(place, _)| *place);
        if let Some(horizon) = horizon {
            found.retain(|(place, _)| *place <= horizon);
        }
        let more = horizon.is_some() || found.len() > limit as usize;
        found.truncate(limit as usize);
        let last = found.last().map(|(place, _)| *place).filter(|_| more);
        Ok((found.into_iter().map(|(_, record)| record).collect(), last))
    }

    fn view_if_meant(&self, record: Record, request: &ListRequest) -> Option<MessageView> {
        let record = MessageRecord::decode(record.value).ok()?;
        let meant = match &request.key_prefix {
            Some(prefix) => record.key.as_ref().is_some_and(|key| key.starts_with(prefix)),
            None => true,
        };
        meant.then(|| self.view_of(record, MessageState::Scheduled, request.with_body))
    }

    /// Waits until everything that was written to the topic's shards before is as safe as it asks.
    async fn barrier(&self, topic: &Topic) -> Result<(), Error> {
        self.all_lines(topic).await.map(drop)
    }

    pub(super) async fn timeline(self: &Arc<Self>, request: TimelineRequest) -> Result<Vec<TimelineBucket>, Error> {
        let minute = limits::TIMELINE_BUCKET_MIN.ms();
        if request.bucket.ms() < minute || !request.bucket.ms().is_multiple_of(minute) {
            let text = format!("`bucket` is {}, allowed are whole minutes, at least one", request.bucket);
            return Err(Error::new(Code::InvalidField, text).with_field("bucket"));
        }
        let topic = self.catalog().topic(&request.topic)?;
        let (after, to) = bounds(request.range);
        let mut counts: BTreeMap<Time, u64> = BTreeMap::new();
        for (timeline, line) in self.all_lines(&topic).await? {
            let start = after.max(line);
            if start >= to {
                continue;
            }
            let read = Read::Count { timeline, after: start, to, bucket_ms: request.bucket.ms() };
            let Some(ReadReply::Counts(counted)) = self.read_beside(&topic, timeline.into(), read).await? else {
                continue;
            };
            for bucket in counted {
                *counts.entry(bucket.from).or_default() += bucket.count;
            }
        }
        self.barrier(&topic).await?;
        if counts.len() as u64 > limits::TIMELINE_BUCKETS_MAX {
            let text = format!(
                "{} buckets of {} hold messages, the limit is {}",
                counts.len(),
                request.bucket,
                limits::TIMELINE_BUCKETS_MAX
            );
            return Err(Error::new(Code::InvalidField, text)
                .with_field("bucket")
                .with_hint("ask for wider buckets, or for a narrower range with `from` and `to`"));
        }
        Ok(counts.into_iter().map(|(from, count)| TimelineBucket { from, count }).collect())
    }

    pub(super) async fn cancel_range(self: &Arc<Self>, path: TopicPath, range: TimeRange) -> Result<u64, Error> {
        self.check_running()?;
        let topic = self.catalog().topic(&path)?;
        let (from, to) = bounds(range);
        let mut cancelled = 0;
        for partition in topic.partitions() {
            let shard = topic.shard(partition, self.store.shards());
            let (lines, seq_max) = self.lines(&topic, partition).await?;
            for (timeline, _) in lines {
                let mut after = from;
                loop {
                    let command = Command::CancelRange { timeline, after, to, seq_max };
                    let answer = self.shards.ask(shard, command, topic.answers()).await?;
                    let Answer::RangeCancelled { cancelled: piece, next } = answer else { break };
                    cancelled += piece;
                    match next {
                        Some(next) => after = next,
                        None => break,
                    }
                }
            }
        }
        Ok(cancelled)
    }
}

/// What a cursor is bound to: the topic and the filters, not the size of the page.
fn query_of(topic: &Topic, request: &ListRequest) -> Vec<u8> {
    let mut query = topic.number.0.to_be_bytes().to_vec();
    for bound in [request.range.from, request.range.to] {
        query.push(u8::from(bound.is_some()));
        query.extend_from_slice(&bound.map_or(0, Time::unix_ms).to_be_bytes());
    }
    query.push(u8::from(request.key_prefix.is_some()));
    query.extend_from_slice(request.key_prefix.as_deref().unwrap_or_default().as_bytes());
    query
}
