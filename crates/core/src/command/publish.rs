//! Publishing: one insert ahead of the line per message, and entries for its handles.

use bytes::Bytes;
use punctual_types::{DelayMs, IndexEntry, IndexKind, IndexPlace, Lane, MessageRef, Now, Read, Time, Write, limits};

use super::{
    Answer, Refused, decide_due,
    locate::{Outcome, Standing},
};
use crate::{
    Facts,
    format::{MessageRecord, Prepared, StateKey},
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
    /// Whether it waits for its producer's decision.
    pub prepare: Option<Prepare>,
}

/// How long a prepared message may be in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// Until it is asked after, the first time and each time again.
    pub timeout: DelayMs,
    /// How often it is asked after before it is rolled back.
    pub max_checks: u32,
}

impl PublishItem {
    /// The message as it is stored, under its reference.
    pub(crate) fn into_record(self, message: MessageRef, published_at: Time) -> MessageRecord {
        let mut record = MessageRecord::new(message, published_at, self.body);
        record.key = self.key;
        record.dedup_id = self.dedup_id;
        record.ordering_key = self.ordering_key;
        record.tag = self.tag;
        record.headers = self.headers;
        record.expires_after = self.expires_after;
        record.prepared =
            self.prepare.map(|Prepare { timeout, max_checks }| Prepared { timeout, max_checks, checks: 0 });
        record
    }

    /// The item that a stored message was made of.
    pub(crate) fn from_record(record: MessageRecord, due: Due, on_conflict: OnKeyConflict) -> Self {
        Self {
            due,
            body: record.body,
            key: record.key,
            on_conflict,
            dedup_id: record.dedup_id,
            ordering_key: record.ordering_key,
            tag: record.tag,
            headers: record.headers,
            priority: record.message.priority,
            expires_after: record.expires_after,
            prepare: record.prepared.map(|it| Prepare { timeout: it.timeout, max_checks: it.max_checks }),
        }
    }
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
    /// It is stored, and waits for its producer's decision.
    Prepared {
        /// As this.
        message: MessageRef,
        /// Due then, if it is committed by then.
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
        let timeline = self.timeline(id.lane(Outcome::lane_of(entry)));
        Outcome::of(entry).is_pending() && timeline.is_some_and(|timeline| timeline.is_ahead(entry.position))
    }

    pub(super) fn publish_reads(&self, id: PartitionId, items: &[PublishItem], facts: &Facts, wanted: &mut Vec<Read>) {
        for item in items {
            let handles = [(IndexKind::Dedup, &item.dedup_id), (IndexKind::Key, &item.key)];
            for (kind, handle) in handles.into_iter().filter_map(|(kind, handle)| Some((kind, handle.as_ref()?))) {
                let place = self.place(id, kind, handle.as_bytes());
                facts.want(wanted, Read::Lookup(place));
                let Some(entry) = facts.entry(place).filter(|entry| self.is_scheduled(id, entry)) else { continue };
                // What is replaced is read whole: its dedup id must learn of it. What is prepared says in
                // its record alone when it is to be due.
                let replaced = kind == IndexKind::Key && item.on_conflict == OnKeyConflict::Replace;
                if replaced || Outcome::of(&entry) == Outcome::Prepared {
                    let timeline = id.lane(Outcome::lane_of(&entry));
                    facts.want(wanted, Read::Record { timeline, position: entry.position });
                }
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
        // What was rolled back never was.
        if let Some(entry) = dedup.and_then(|place| facts.entry(place))
            && Outcome::of(&entry) != Outcome::RolledBack
            && (now.floor < entry.at.saturating_add(window) || self.is_scheduled(id, &entry))
        {
            return PublishAnswer::Duplicate { message: reference(id, &entry), due: due_of(id, &entry, facts) };
        }
        let key = item.key.as_ref().map(|key| self.place(id, IndexKind::Key, key.as_bytes()));
        let pending = key.and_then(|place| facts.entry(place)).filter(|entry| self.is_scheduled(id, entry));
        if let Some(entry) = pending {
            let (message, due) = (reference(id, &entry), due_of(id, &entry, facts));
            match item.on_conflict {
                OnKeyConflict::Keep => return PublishAnswer::Kept { message, due },
                OnKeyConflict::Replace if Outcome::of(&entry) != Outcome::Prepared => {}
                // Only its producer decides over what is prepared.
                OnKeyConflict::Reject | OnKeyConflict::Replace => {
                    return PublishAnswer::Refused(PublishRefusal::KeyConflict { message, due });
                }
            }
        }
        let due = match decide_due(item.due, max_delay, now) {
            Ok(due) => due,
            Err(refused) => return PublishAnswer::Refused(PublishRefusal::Due(refused)),
        };
        if let Some(entry) = pending {
            self.replace(id, &entry, facts, now);
        }
        let prepare = item.prepare;
        let message = self.insert_message(id, item, due, facts, now);
        let lane = if prepare.is_some() { Lane::Check } else { message.timeline().lane };
        let (first, standing) = (message.first, Standing { timeline: id.lane(lane), ..Standing::first(message) });
        let outcome = if prepare.is_some() { Outcome::Prepared } else { Outcome::Scheduled };
        if prepare.is_some() {
            let entry = outcome.entry(standing, now.floor, first.due.saturating_add(super::locate::MOVED_KEPT));
            self.pen.write(facts, Write::PutIndex { place: self.message_place(id, message), entry });
        }
        if let Some(place) = dedup {
            let expires_at = now.floor.saturating_add(window).max(kept_after(first.due));
            let entry = outcome.entry(standing, now.floor, expires_at);
            self.pen.write(facts, Write::PutIndex { place, entry });
        }
        if let Some(place) = key {
            let entry = outcome.entry(standing, now.floor, kept_after(first.due));
            self.pen.write(facts, Write::PutIndex { place, entry });
        }
        match pending {
            // One that is prepared takes the place at once: who rolls it back has neither.
            Some(entry) => PublishAnswer::Replaced {
                message,
                due: if prepare.is_some() { due } else { first.due },
                replaced: reference(id, &entry),
            },
            None if prepare.is_some() => PublishAnswer::Prepared { message, due },
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
        let (lane, stands) = match item.prepare {
            Some(prepare) => (Lane::Check, now.ceil.saturating_add(prepare.timeout)),
            None => (Lane::Priority(priority), due),
        };
        if item.prepare.is_none() {
            self.read_lane(id, lane);
        }
        let position = self.put_message(facts, id.lane(lane), stands, |position| {
            let mut record = item.into_record(reference(position), now.floor);
            if record.prepared.is_some() {
                record.deliver_at = due;
            }
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

/// When the message of an entry is or was due.
fn due_of(id: PartitionId, entry: &IndexEntry, facts: &Facts) -> Time {
    let prepared = Outcome::of(entry) == Outcome::Prepared;
    let record = facts.record(id.lane(Outcome::lane_of(entry)), entry.position).filter(|_| prepared).cloned();
    record.and_then(|bytes| MessageRecord::decode(bytes).ok()).map_or(entry.position.due, |record| record.deliver_at)
}

/// The message of an entry.
pub(crate) fn reference(id: PartitionId, entry: &IndexEntry) -> MessageRef {
    MessageRef { topic: id.topic, partition: id.partition, priority: entry.priority, first: entry.first }
}

/// Until when an outcome that counts from a time is kept.
pub(crate) fn kept_after(time: Time) -> Time {
    time.saturating_add(limits::OUTCOME_KEPT)
}
