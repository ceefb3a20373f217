//! The changes that commands are made of: each keeps state, counts, deadlines and batch in step.

use bytes::Bytes;
use punctual_types::{DelayMs, Lane, Mark, Offset, Position, SubscriptionNumber, Time, TimelineId, Write, limits};

use super::{agenda::LeaseEnd, shard::Shard};
use crate::{Facts, format::StateKey};

impl Shard {
    /// Inserts a record ahead of the line: at `due`, or just past the line when that is earlier.
    pub(crate) fn insert(
        &mut self,
        facts: &mut Facts,
        id: TimelineId,
        due: Time,
        record: impl FnOnce(Position) -> Bytes,
    ) -> Position {
        self.meta.last_seq = self.meta.last_seq.next();
        let partition = self.partitions.entry(id.into()).or_default();
        let timeline = partition.timelines.entry(id.lane).or_default();
        let position = Position::new(due.max(timeline.line.position.due), self.meta.last_seq);
        // A fresh sequence number is higher than the line's, so this holds within its millisecond.
        assert!(timeline.is_ahead(position), "a record was to be inserted behind the line of {id:?}");
        timeline.scheduled += 1;
        let next = timeline.next_due.map_or(position.due, |next| next.min(position.due));
        self.agenda.set_due(id, &mut timeline.next_due, Some(next));
        self.pen.touch(StateKey::Timeline(id));
        self.pen.write(facts, Write::Insert { timeline: id, position, record: record(position) });
        position
    }

    /// Removes a record ahead of the line.
    pub(crate) fn remove(&mut self, facts: &mut Facts, id: TimelineId, position: Position) {
        self.uncount(id, position, 1);
        self.pen.write(facts, Write::Remove { timeline: id, position });
    }

    /// Counts records ahead of the line that are gone.
    pub(crate) fn uncount(&mut self, id: TimelineId, position: Position, records: u64) {
        let Some(timeline) =
            self.partitions.get_mut(&id.into()).and_then(|partition| partition.timelines.get_mut(&id.lane))
        else {
            return;
        };
        assert!(timeline.is_ahead(position), "a record was to be removed behind the line of {id:?}");
        assert!(timeline.scheduled >= records, "more records were removed from {id:?} than it holds");
        timeline.scheduled -= records;
        // What is due next stays a lower bound, unless nothing is left at all.
        if timeline.scheduled == 0 {
            self.agenda.set_due(id, &mut timeline.next_due, None);
            timeline.blocked_on = None;
        }
        self.pen.touch(StateKey::Timeline(id));
    }

    /// Settles an offset of a reader, by the ack of a lease or (`None`) because it moved elsewhere.
    pub(crate) fn settle(&mut self, id: TimelineId, number: SubscriptionNumber, offset: Offset, acked_by: Option<u64>) {
        let Some(reader) = self
            .partitions
            .get_mut(&id.into())
            .and_then(|partition| partition.subscriptions.get_mut(&number)?.readers.get_mut(&id.lane))
        else {
            return;
        };
        let before = (reader.acks.floor(), reader.acks.above());
        reader.damaged.remove(&offset);
        match acked_by {
            Some(serial) => reader.settle_acked(offset, serial),
            None => reader.settle_moved(offset),
        }
        if reader.failures.remove(&offset).is_some() {
            self.pen.touch(StateKey::Failure(id, number, offset));
        }
        if let Some(parked) = reader.parked.remove(&offset) {
            let end = LeaseEnd { at: parked.not_before, timeline: id, subscription: number, offset };
            self.agenda.parked.remove(&end);
        }
        if let Some((next, position)) = reader.order.leave(offset) {
            reader.returned.insert(next, position);
        }
        self.pen.touch(StateKey::Reader(id, number));
        let chunk = super::ack_set::AckSet::chunk_of;
        if before.1 > 0 || offset != before.0 {
            for number_of_chunk in chunk(before.0)..=chunk(reader.acks.floor()) {
                self.pen.touch(StateKey::AckChunk(id, number, number_of_chunk));
            }
            self.pen.touch(StateKey::AckChunk(id, number, chunk(offset)));
        }
    }

    /// Takes the lease away from its consumer.
    pub(crate) fn end_lease(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        offset: Offset,
    ) -> Option<super::Lease> {
        let subscription = self.subscription_mut(id.into(), number)?;
        let lease = subscription.readers.get_mut(&id.lane)?.leases.remove(&offset)?;
        subscription.count_given_up(lease.consumer);
        self.pen.changed.insert(id.into());
        self.agenda.lease_ends.remove(&LeaseEnd { at: lease.expires_at, timeline: id, subscription: number, offset });
        Some(lease)
    }

    /// Forgets the deadlines of what a reader has leased or parked, which is about to go.
    pub(crate) fn forget_deadlines(&mut self, id: TimelineId, number: SubscriptionNumber) {
        let Some(reader) = self.reader(id, number) else { return };
        let leased: Vec<_> = reader.leases.keys().copied().collect();
        let end = |(offset, parked): (&Offset, &super::Parked)| LeaseEnd {
            at: parked.not_before,
            timeline: id,
            subscription: number,
            offset: *offset,
        };
        let parked: Vec<_> = reader.parked.iter().map(end).collect();
        for offset in leased {
            self.end_lease(id, number, offset);
        }
        for end in parked {
            self.agenda.parked.remove(&end);
        }
    }

    /// Lets a timeline's floor follow its readers: at once when they have come to the line, and
    /// otherwise, since the position must be read, by a command of its own once it is worth it.
    pub(crate) fn follow_floor(&mut self, facts: &mut Facts, id: TimelineId) {
        let keeping = self.keeping(id);
        let Some(partition) = self.partitions.get_mut(&id.into()) else { return };
        let Some(wanted) = partition.wanted_from(id.lane) else { return };
        let Some(timeline) = partition.timelines.get_mut(&id.lane) else { return };
        let wanted = wanted.min(timeline.line.offset);
        if wanted <= timeline.floor.offset {
            return;
        }
        let now = self.meta.time;
        if keeping.is_some() && timeline.keep_at.is_some_and(|at| at > now) {
            return;
        }
        let is_kept = keeping.is_some_and(|keeping| timeline.line.position.due.saturating_add(keeping) > now);
        if wanted == timeline.line.offset && is_kept {
            self.agenda.floors.insert(id);
        } else if wanted == timeline.line.offset {
            timeline.floor = timeline.line;
            let mark = timeline.floor;
            self.agenda.floors.remove(&id);
            self.raise_floor(facts, id, mark);
        } else if wanted.0 - timeline.floor.offset.0 >= limits::ANCHOR_EVERY {
            self.agenda.floors.insert(id);
        }
    }

    /// For how long the floor of a timeline is held back, if it is.
    pub(crate) fn keeping(&self, id: TimelineId) -> Option<DelayMs> {
        matches!(id.lane, Lane::Priority(_)).then_some(())?;
        self.partitions.get(&id.into())?.rules.as_ref()?.keeping()
    }

    /// Changes a timeline's deadlines.
    pub(crate) fn set_deadlines(&mut self, id: TimelineId, change: impl FnOnce(&mut super::timeline::Timeline)) {
        let Some(timeline) =
            self.partitions.get_mut(&id.into()).and_then(|partition| partition.timelines.get_mut(&id.lane))
        else {
            return;
        };
        let before = timeline.deadline();
        change(timeline);
        let after = timeline.deadline();
        if before != after {
            self.agenda.retentions.extend(after.map(|at| (at, id)));
            if let Some(at) = before {
                self.agenda.retentions.remove(&(at, id));
            }
        }
    }

    pub(crate) fn raise_floor(&mut self, facts: &mut Facts, id: TimelineId, mark: Mark) {
        if let Some(timeline) = self.timeline_mut(id).filter(|it| !it.overdue.is_empty()) {
            timeline.overdue = timeline.overdue.split_off(&mark.offset);
        }
        self.pen.touch(StateKey::Timeline(id));
        self.pen.write(facts, Write::RaiseFloor { timeline: id, mark });
    }
}
