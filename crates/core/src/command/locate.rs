//! Finding the message that a caller means, and what became of it.

use punctual_types::{
    DelayMs, HashBits, IndexEntry, IndexKind, IndexPlace, Lane, MessageRef, Now, Position, Read, Time, TimelineId,
    Write, limits,
};

use super::publish::{kept_after, reference};
use crate::{
    Facts,
    format::MessageRecord,
    state::{PartitionId, Shard},
};

/// How long after its due time a moved message is still found by its id: the id carries the first
/// position, and the entry that leads on from there cannot be kept for ever.
pub(super) const MOVED_KEPT: DelayMs = DelayMs::from_secs(7 * 24 * 3600);

/// A message by its reference or by the hash of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageHandle {
    /// By reference.
    Message(MessageRef),
    /// By key.
    Key(HashBits),
}

/// What became of a message, as its index entries say. Stored: values are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Outcome {
    /// It stands where it was put first.
    Scheduled = 0,
    /// It stands elsewhere.
    Moved = 1,
    /// It was cancelled.
    Cancelled = 2,
    /// Another took its place.
    Replaced = 3,
    /// It was made due before its time.
    DeliveredNow = 4,
    /// It crossed the line, and somebody was told so.
    Crossed = 5,
    /// It waits on the check timeline for its producer's decision.
    Prepared = 6,
    /// It was prepared, and the decision was to deliver it.
    Committed = 7,
    /// It was prepared, and the decision was that it never was.
    RolledBack = 8,
}

impl Outcome {
    pub(crate) fn of(entry: &IndexEntry) -> Self {
        match entry.outcome {
            0 => Self::Scheduled,
            1 => Self::Moved,
            3 => Self::Replaced,
            4 => Self::DeliveredNow,
            5 => Self::Crossed,
            6 => Self::Prepared,
            7 => Self::Committed,
            8 => Self::RolledBack,
            // Of values that no version wrote, the one that promises least.
            _ => Self::Cancelled,
        }
    }

    /// Whether nothing but time decides over the message.
    pub(crate) fn is_pending(self) -> bool {
        match self {
            Self::Scheduled | Self::Moved | Self::Prepared => true,
            Self::Cancelled
            | Self::Replaced
            | Self::DeliveredNow
            | Self::Crossed
            | Self::Committed
            | Self::RolledBack => false,
        }
    }

    /// Whether the message is gone without having been delivered.
    pub(crate) fn is_gone(self) -> bool {
        matches!(self, Self::Cancelled | Self::Replaced | Self::RolledBack)
    }

    /// The lane on which the message of an entry stands.
    pub(crate) fn lane_of(entry: &IndexEntry) -> Lane {
        match Self::of(entry) {
            Self::Prepared | Self::RolledBack => Lane::Check,
            Self::Scheduled
            | Self::Moved
            | Self::Cancelled
            | Self::Replaced
            | Self::DeliveredNow
            | Self::Crossed
            | Self::Committed => Lane::Priority(entry.priority),
        }
    }

    pub(crate) fn entry(self, of: Standing, at: Time, expires_at: Time) -> IndexEntry {
        // The lane where it stands: a dead letter keeps its number and stands on the main lane.
        let priority = match of.timeline.lane {
            Lane::Priority(priority) => priority,
            Lane::Retry(_) | Lane::Expiry | Lane::Check | Lane::Outgoing(_) => of.message.priority,
        };
        let (first, position) = (of.message.first, of.position);
        IndexEntry { priority, first, position, outcome: self as u8, at, expires_at }
    }
}

/// A message, and where it stands or last stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) message: MessageRef,
    pub(crate) timeline: TimelineId,
    pub(crate) position: Position,
}

impl Standing {
    /// Where a message was put first.
    pub(crate) fn first(message: MessageRef) -> Self {
        Self { message, timeline: message.timeline(), position: message.first }
    }
}

/// Where a message was found.
pub(crate) enum Located {
    /// Ahead of the line.
    Scheduled { standing: Standing, record: Box<MessageRecord> },
    /// Waiting for its producer's decision.
    Prepared { standing: Standing, record: Box<MessageRecord> },
    /// Behind the line.
    Crossed,
    /// It was decided over; still remembered.
    Decided { outcome: Outcome },
    /// Nowhere.
    Unknown,
}

impl Shard {
    pub(super) fn handle_place(&self, id: PartitionId, handle: &MessageHandle) -> IndexPlace {
        match handle {
            MessageHandle::Message(message) => self.message_place(id, *message),
            MessageHandle::Key(hash) => {
                IndexPlace { index: IndexKind::Key, topic: id.topic, partition: id.partition, hash: *hash }
            }
        }
    }

    /// Where the message stands by what the index says; whether it is there is another question.
    pub(super) fn standing(&self, id: PartitionId, handle: &MessageHandle, facts: &Facts) -> Option<Standing> {
        let by_entry = |message, entry: IndexEntry| {
            let timeline = id.lane(Outcome::lane_of(&entry));
            Standing { message, timeline, position: entry.position }
        };
        match (facts.entry(self.handle_place(id, handle)), handle) {
            (Some(entry), MessageHandle::Message(message)) => Some(by_entry(*message, entry)),
            (Some(entry), MessageHandle::Key(_)) => Some(by_entry(reference(id, &entry), entry)),
            // Where it was first inserted; a message of another topic is here only by an entry.
            (None, MessageHandle::Message(message)) => (message.topic == id.topic).then(|| Standing::first(*message)),
            (None, MessageHandle::Key(_)) => None,
        }
    }

    pub(super) fn locate_reads(&self, id: PartitionId, handle: &MessageHandle, facts: &Facts, wanted: &mut Vec<Read>) {
        let lookup = Read::Lookup(self.handle_place(id, handle));
        if !facts.knows(&lookup) {
            wanted.push(lookup);
        } else if let Some(Standing { timeline, position, .. }) = self.standing(id, handle, facts) {
            facts.want(wanted, Read::Record { timeline, position });
        }
    }

    pub(super) fn locate(&self, id: PartitionId, handle: &MessageHandle, facts: &Facts, now: Now) -> Located {
        let entry = facts.entry(self.handle_place(id, handle));
        let Some(standing) = self.standing(id, handle, facts) else { return Located::Unknown };
        let position = standing.position;
        let Some(timeline) = self.timeline(standing.timeline) else { return Located::Unknown };
        if let Some(entry) = entry {
            let outcome = Outcome::of(&entry);
            match outcome {
                Outcome::Cancelled | Outcome::Replaced | Outcome::RolledBack if now.floor < entry.expires_at => {
                    return Located::Decided { outcome };
                }
                Outcome::Cancelled | Outcome::Replaced | Outcome::RolledBack => return Located::Unknown,
                Outcome::DeliveredNow if now.floor < kept_after(entry.at) || timeline.is_ahead(position) => {
                    return Located::Decided { outcome };
                }
                Outcome::Crossed if now.floor < kept_after(entry.at) => return Located::Crossed,
                Outcome::Scheduled
                | Outcome::Moved
                | Outcome::DeliveredNow
                | Outcome::Crossed
                | Outcome::Prepared
                | Outcome::Committed => {}
            }
            if self.is_forgotten(handle, &entry, timeline.is_ahead(position), now.floor) {
                return Located::Unknown;
            }
        }
        let record = facts.record(standing.timeline, position);
        if timeline.is_ahead(position) {
            return match record.cloned().map(MessageRecord::decode) {
                Some(Ok(record)) if standing.timeline.lane == Lane::Check => {
                    Located::Prepared { standing, record: Box::new(record) }
                }
                Some(Ok(record)) => Located::Scheduled { standing, record: Box::new(record) },
                Some(Err(_)) | None => Located::Unknown,
            };
        }
        // Behind the line a message may be settled and gone. That it was delivered is certain while
        // an outcome that says otherwise would still be remembered: ids cannot be made up. When the
        // line passed it says nothing, since it may have passed long after the due time.
        if record.is_some() || now.floor < kept_after(position.due) { Located::Crossed } else { Located::Unknown }
    }

    /// Whether an entry counts no longer, be it still there or not: a key says nothing of a message
    /// that crossed once its last outcome has been kept for its time.
    pub(super) fn is_forgotten(&self, handle: &MessageHandle, entry: &IndexEntry, ahead: bool, now: Time) -> bool {
        matches!(handle, MessageHandle::Key(_)) && !ahead && now >= entry.expires_at
    }

    /// Remembers that somebody was told that a message has crossed: it may be acked and dropped
    /// next, and who asks again within ten minutes is to hear the same.
    pub(super) fn remember_crossed(&mut self, id: PartitionId, handle: &MessageHandle, facts: &mut Facts, now: Now) {
        let place = self.handle_place(id, handle);
        let Some(standing) = self.standing(id, handle, facts) else { return };
        // What leads to where a moved message stands is kept for as long as it was to be.
        let expires_at = facts.entry(place).map_or(Time::ZERO, |entry| entry.expires_at).max(kept_after(now.floor));
        let entry = Outcome::Crossed.entry(standing, now.floor, expires_at);
        self.pen.write(facts, Write::PutIndex { place, entry });
    }

    /// Takes a scheduled message away and remembers why, under every handle it has.
    pub(super) fn take_away(
        &mut self,
        standing: Standing,
        record: &MessageRecord,
        outcome: Outcome,
        facts: &mut Facts,
        now: Now,
    ) {
        self.remove(facts, standing.timeline, standing.position);
        self.note_gone(standing, record, outcome, facts, now);
    }

    /// Remembers why a message is gone, under every handle it has. The id is remembered until its
    /// due time has passed too, since from then on its absence would be taken for a delivery.
    pub(super) fn note_gone(
        &mut self,
        standing: Standing,
        record: &MessageRecord,
        outcome: Outcome,
        facts: &mut Facts,
        now: Now,
    ) {
        let (id, message) = (PartitionId::from(standing.timeline), standing.message);
        let expires_at = kept_after(now.floor.max(standing.position.due).max(message.first.due));
        let entry = outcome.entry(standing, now.floor, expires_at);
        let place = self.message_place(id, message);
        self.pen.write(facts, Write::PutIndex { place, entry });
        if let Some(key) = record.key.as_ref().filter(|_| has_own_handles(id, record)) {
            let place = self.place(id, IndexKind::Key, key.as_bytes());
            // A message that was delivered now has given its key up before it crossed: where the
            // entry was read and is another's by now, it stays.
            if facts.entry(place).is_none_or(|entry| entry.first == message.first) {
                let entry = outcome.entry(standing, now.floor, kept_after(now.floor));
                self.pen.write(facts, Write::PutIndex { place, entry });
            }
        }
        self.note_outcome_of_dedup(standing, record, outcome, facts, now);
    }

    /// Tells the dedup entry of a message that it is no longer scheduled: from here on its window
    /// alone counts.
    pub(super) fn note_outcome_of_dedup(
        &mut self,
        standing: Standing,
        record: &MessageRecord,
        outcome: Outcome,
        facts: &mut Facts,
        now: Now,
    ) {
        let id = PartitionId::from(standing.timeline);
        let Some(dedup_id) = record.dedup_id.as_ref().filter(|_| has_own_handles(id, record)) else { return };
        let place = self.place(id, IndexKind::Dedup, dedup_id.as_bytes());
        let expires_at = self.dedup_end(id, record).max(now.floor);
        let entry = outcome.entry(standing, record.published_at, expires_at);
        self.pen.write(facts, Write::PutIndex { place, entry });
    }

    fn dedup_end(&self, id: PartitionId, record: &MessageRecord) -> Time {
        let rules = self.partitions.get(&id).and_then(|partition| partition.rules.as_ref());
        let window = rules.map_or(limits::DEDUP_WINDOW_DEFAULT, |rules| rules.dedup_window);
        record.published_at.saturating_add(window)
    }

    /// Moves a message to another time or timeline, with everything it has; answers where it stands.
    #[expect(clippy::too_many_arguments, reason = "what moves, where to, and what every change is given")]
    pub(super) fn move_to(
        &mut self,
        from: Standing,
        timeline: TimelineId,
        mut record: MessageRecord,
        due: Time,
        outcome: Outcome,
        facts: &mut Facts,
        now: Now,
    ) -> Position {
        let (id, message) = (PartitionId::from(timeline), from.message);
        self.remove(facts, from.timeline, from.position);
        let handles = has_own_handles(id, &record).then(|| (record.key.clone(), record.dedup_id.clone()));
        let (key, dedup_id) = handles.unwrap_or_default();
        let (published_at, window_end) = (record.published_at, self.dedup_end(timeline.into(), &record));
        let moved = self.put_message(facts, timeline, due, |position| {
            // What is prepared keeps the time that it is to be delivered at, wherever it waits.
            if record.prepared.is_none() {
                record.deliver_at = position.due;
            }
            record
        });
        let standing = Standing { message, timeline, position: moved };
        let place = self.message_place(id, message);
        let expires_at = moved.due.max(message.first.due).saturating_add(MOVED_KEPT);
        self.pen.write(facts, Write::PutIndex { place, entry: outcome.entry(standing, now.floor, expires_at) });
        if let Some(key) = key {
            let place = self.place(id, IndexKind::Key, key.as_bytes());
            let entry = outcome.entry(standing, now.floor, kept_after(moved.due));
            self.pen.write(facts, Write::PutIndex { place, entry });
        }
        if let Some(dedup_id) = dedup_id {
            let place = self.place(id, IndexKind::Dedup, dedup_id.as_bytes());
            // It stays a duplicate while scheduled, also past the window.
            let outcome = if outcome == Outcome::Prepared { outcome } else { Outcome::Moved };
            let entry = outcome.entry(standing, published_at, window_end.max(kept_after(moved.due)));
            self.pen.write(facts, Write::PutIndex { place, entry });
        }
        moved
    }
}

/// Whether the key and the dedup id of a message are entries of the partition it lies in: those of
/// a dead letter or of a copy in doubt belong to the topic it was published to, and name other messages here.
fn has_own_handles(id: PartitionId, record: &MessageRecord) -> bool {
    record.dead_letter.is_none() && record.message.topic == id.topic
}
