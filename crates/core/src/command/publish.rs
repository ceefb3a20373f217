//! Publishing: one insert ahead of the line per message, and entries for its handles.

use bytes::Bytes;
use punctual_types::{DelayMs, IndexEntry, IndexKind, IndexPlace, Lane, MessageRef, Now, Read, Time, Write, limits};

use super::{
    Answer, Refused, decide_due,
    locate::{Outcome, Standing},
};
use crate::{
    Facts,
    format::{MessageRecord, StateKey},
    state::{Due, OnKeyConflict, PartitionId, Shard},
};

/// A message to take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishItem {
    /// When it is to be due.
    pub due: Due,
    /// The body.
    pub body: Bytes,
    /// The caller's own handle.
    pub key: Option<String>,
    /// What to do when it is taken.
    pub on_conflict: OnKeyConflict,
    /// The dedup id.
    pub dedup_id: Option<String>,
    /// The ordering key.
    pub ordering_key: Option<String>,
    /// The tag.
    pub tag: Option<String>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Higher goes first.
    pub priority: u8,
    /// How long after its due time it expires.
    pub expires_after: Option<DelayMs>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishAnswer {
    /// It is stored.
    Accepted {
        /// As this.
        message: MessageRef,
        /// Due then.
        due: Time,
    },
    /// An earlier one has its dedup id.
    Duplicate {
        /// That one.
        message: MessageRef,
        /// When that is or was due.
        due: Time,
    },
    /// It is stored in place of another.
    Replaced {
        /// As this.
        message: MessageRef,
        /// Due then.
        due: Time,
        /// The other.
        replaced: MessageRef,
    },
    /// A scheduled one has its key and stays.
    Kept {
        /// That one.
        message: MessageRef,
        /// When that is due.
        due: Time,
    },
    /// It was refused.
    Refused(PublishRefusal),
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishRefusal {
    /// A scheduled message has the key.
    KeyConflict {
        /// That one.
        message: MessageRef,
        /// When it is due.
        due: Time,
    },
    /// Its time cannot be honoured.
    Due(Refused),
}

impl Shard {
    pub(crate) fn place(&self, id: PartitionId, index: IndexKind, handle: &[u8]) -> IndexPlace {
        IndexPlace { index, topic: id.topic, partition: id.partition, hash: self.config.hash.of(handle) }
    }

    /// The place of an entry about a message, in the partition where it lies: for a dead letter
    /// another than the one that its reference names.
    pub(crate) fn message_place(&self, id: PartitionId, message: MessageRef) -> IndexPlace {
        self.place(id, IndexKind::Message, &message.to_bytes())
    }

    /// Whether the message of an entry is still ahead of the line.
    pub(crate) fn is_scheduled(&self, id: PartitionId, entry: &IndexEntry) -> bool {
        let timeline = self.timeline(id.lane(Lane::Priority(entry.priority)));
        Outcome::of(entry).is_pending() && timeline.is_some_and(|timeline| timeline.is_ahead(entry.position))
    }

    pub(super) fn publish_reads(&self, id: PartitionId, items: &[PublishItem], facts: &Facts, wanted: &mut Vec<Read>) {
        for item in items {
            if let Some(dedup_id) = &item.dedup_id {
                facts.want(wanted, Read::Lookup(self.place(id, IndexKind::Dedup, dedup_id.as_bytes())));
            }
            let Some(key) = &item.key else { continue };
            let place = self.place(id, IndexKind::Key, key.as_bytes());
            facts.want(wanted, Read::Lookup(place));
            // What is replaced is read whole: its dedup id must learn of it.
            if item.on_conflict == OnKeyConflict::Replace
                && let Some(entry) = facts.entry(place)
                && self.is_scheduled(id, &entry)
            {
                let timeline = id.lane(Lane::Priority(entry.priority));
                facts.want(wanted, Read::Record { timeline, position: entry.position });
            }
        }
    }

    pub(super) fn publish(
        &mut self,
        id: PartitionId,
        items: Vec<PublishItem>,
        max_delay: Option<DelayMs>,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let Some(window) = self.partitions.get(&id).and_then(|it| Some(it.rules.as_ref()?.dedup_window)) else {
            return Answer::Gone;
        };
        let answers = items.into_iter().map(|item| self.publish_one(id, item, window, max_delay, facts, now)).collect();
        Answer::Published(answers)
    }

    fn publish_one(
        &mut self,
        id: PartitionId,
        item: PublishItem,
        window: DelayMs,
        max_delay: Option<DelayMs>,
        facts: &mut Facts,
        now: Now,
    ) -> PublishAnswer {
        let dedup = item.dedup_id.as_ref().map(|dedup_id| self.place(id, IndexKind::Dedup, dedup_id.as_bytes()));
        if let Some(entry) = dedup.and_then(|place| facts.entry(place))
            && (now.floor < entry.at.saturating_add(window) || self.is_scheduled(id, &entry))
        {
            return PublishAnswer::Duplicate { message: reference(id, &entry), due: entry.position.due };
        }
        let key = item.key.as_ref().map(|key| self.place(id, IndexKind::Key, key.as_bytes()));
        let pending = key.and_then(|place| facts.entry(place)).filter(|entry| self.is_scheduled(id, entry));
        if let Some(entry) = pending {
            let (message, due) = (reference(id, &entry), entry.position.due);
            match item.on_conflict {
                OnKeyConflict::Reject => {
                    return PublishAnswer::Refused(PublishRefusal::KeyConflict { message, due });
                }
                OnKeyConflict::Keep => return PublishAnswer::Kept { message, due },
                OnKeyConflict::Replace => {}
            }
        }
        let due = match decide_due(item.due, max_delay, now) {
            Ok(due) => due,
            Err(refused) => return PublishAnswer::Refused(PublishRefusal::Due(refused)),
        };
        if let Some(entry) = pending {
            self.replace(id, &entry, facts, now);
        }
        let message = self.insert_message(id, item, due, facts, now);
        let (first, standing) = (message.first, Standing::first(message));
        if let Some(place) = dedup {
            let expires_at = now.floor.saturating_add(window).max(kept_after(first.due));
            let entry = Outcome::Scheduled.entry(standing, now.floor, expires_at);
            self.pen.write(facts, Write::PutIndex { place, entry });
        }
        if let Some(place) = key {
            let entry = Outcome::Scheduled.entry(standing, now.floor, kept_after(first.due));
            self.pen.write(facts, Write::PutIndex { place, entry });
        }
        match pending {
            Some(entry) => PublishAnswer::Replaced { message, due: first.due, replaced: reference(id, &entry) },
            None => PublishAnswer::Accepted { message, due: first.due },
        }
    }

    fn insert_message(
        &mut self,
        id: PartitionId,
        item: PublishItem,
        due: Time,
        facts: &mut Facts,
        now: Now,
    ) -> MessageRef {
        let priority = item.priority;
        let reference = |first| MessageRef { topic: id.topic, partition: id.partition, priority, first };
        self.read_lane(id, Lane::Priority(priority));
        let position = self.put_message(facts, id.lane(Lane::Priority(priority)), due, |position| {
            let mut record = MessageRecord::new(reference(position), now.floor, item.body);
            record.key = item.key;
            record.dedup_id = item.dedup_id;
            record.ordering_key = item.ordering_key;
            record.tag = item.tag;
            record.headers = item.headers;
            record.expires_after = item.expires_after;
            record
        });
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.totals.published += 1;
        }
        self.pen.touch(StateKey::PartitionTotals(id.topic, id.partition));
        reference(position)
    }

    /// Takes a scheduled message away because another takes its place.
    fn replace(&mut self, id: PartitionId, entry: &IndexEntry, facts: &mut Facts, now: Now) {
        let timeline = id.lane(Lane::Priority(entry.priority));
        let standing = Standing { message: reference(id, entry), timeline, position: entry.position };
        let record = facts.record(timeline, entry.position).cloned();
        self.remove(facts, timeline, entry.position);
        if let Some(record) = record.and_then(|bytes| MessageRecord::decode(bytes).ok()) {
            // The new message's own entry takes the key's place; only the dedup id must learn.
            self.note_outcome_of_dedup(standing, &record, Outcome::Replaced, facts, now);
        }
        let place = self.message_place(id, standing.message);
        // As in `note_gone`: also past its first due time, where its id would look for it.
        let expires_at = kept_after(now.floor.max(entry.position.due).max(entry.first.due));
        let gone = Outcome::Replaced.entry(standing, now.floor, expires_at);
        self.pen.write(facts, Write::PutIndex { place, entry: gone });
        self.count_cancelled(id, 1);
    }

    pub(crate) fn count_cancelled(&mut self, id: PartitionId, messages: u64) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.totals.cancelled += messages;
        }
        self.pen.touch(StateKey::PartitionTotals(id.topic, id.partition));
    }
}

/// The message of an entry.
pub(crate) fn reference(id: PartitionId, entry: &IndexEntry) -> MessageRef {
    MessageRef { topic: id.topic, partition: id.partition, priority: entry.priority, first: entry.first }
}

/// Until when an outcome that counts from a time is kept.
pub(crate) fn kept_after(time: Time) -> Time {
    time.saturating_add(limits::OUTCOME_KEPT)
}
