//! A shard as it is stored: loading its pieces, opening it, and sealing a batch.

use bytes::Bytes;
use punctual_types::{Batch, Epoch, Now, Offset, Time, Write};

use super::{PartitionId, Shard, ShardClock, timeline::Timeline};
use crate::format::{
    FormatError, StateKey,
    failure::Failure,
    partition_totals::PartitionTotals,
    reader_state,
    shard_meta::ShardMeta,
    subscription_totals::SubscriptionTotals,
    timeline_state::TimelineState,
    transfer::{decode_arrived, encode_arrived},
};

impl Shard {
    /// Takes a piece of stored state. Pieces come in key order; those of other owners are passed
    /// over (`Ok(false)`).
    ///
    /// # Errors
    /// When the piece is damaged or of a later version.
    pub fn load(&mut self, key: &[u8], value: Bytes) -> Result<bool, FormatError> {
        let Some(key) = StateKey::from_bytes(key) else {
            return match key.first() {
                Some(&family) if family >= crate::format::state_key::FIRST_FOREIGN_FAMILY => Ok(false),
                _ => Err(FormatError::new("state key", format!("{key:?} is not one"))),
            };
        };
        let orphan = || FormatError::new("state", format!("{key:?} comes without the piece it belongs to"));
        match key {
            StateKey::Shard => self.meta = ShardMeta::decode(value)?,
            StateKey::Timeline(id) => {
                let timeline = Timeline::load(TimelineState::decode(value)?);
                let unknown_due = (timeline.scheduled > 0).then_some(Time::ZERO);
                let partition = self.partitions.entry(id.into()).or_default();
                let timeline = partition.timelines.entry(id.lane).insert_entry(timeline).into_mut();
                self.agenda.set_due(id, &mut timeline.next_due, unknown_due);
            }
            StateKey::Reader(id, subscription) => {
                let state = reader_state::decode(value)?;
                let partition = self.partitions.get_mut(&id.into()).ok_or_else(orphan)?;
                let subscription = partition.subscriptions.entry(subscription).or_default();
                subscription.reader(id.lane, state.floor).began_at = state.began_at;
            }
            StateKey::AckChunk(id, subscription, number) => {
                let chunk = reader_state::decode_chunk(&value)?;
                let reader = self.reader_mut(id, subscription).ok_or_else(orphan)?;
                reader.acks.load_chunk(number, chunk);
                reader.cursor = reader.acks.floor();
            }
            StateKey::Failure(id, subscription, offset) => {
                let failure = Failure::decode(value)?;
                self.reader_mut(id, subscription).ok_or_else(orphan)?.failures.insert(offset, failure);
            }
            StateKey::SubscriptionTotals(topic, partition, number) => {
                let partition = self.partitions.entry(PartitionId { topic, partition }).or_default();
                partition.subscriptions.entry(number).or_default().totals = SubscriptionTotals::decode(value)?;
            }
            StateKey::PartitionTotals(topic, partition) => {
                self.partitions.entry(PartitionId { topic, partition }).or_default().totals =
                    PartitionTotals::decode(value)?;
            }
            StateKey::Arrived(source) => {
                self.arrived.insert(source, decode_arrived(value)?);
            }
        }
        Ok(true)
    }

    /// Begins an ownership of the shard, after everything is loaded: receipts of earlier ones are
    /// void from here on, and nothing acts before the shard's own time again. The batch that
    /// [`Shard::seal`] then makes must be durable before anything is answered.
    pub fn open(&mut self, now: Now) {
        self.meta.epoch = Epoch(self.meta.epoch.0 + 1);
        self.meta.time = self.meta.time.max(now.floor);
        self.pen.touch(StateKey::Shard);
        let now = self.meta.time;
        for (id, partition) in &mut self.partitions {
            for (number, subscription) in &mut partition.subscriptions {
                for (lane, reader) in &mut subscription.readers {
                    // Who settled what before this ownership is not known.
                    *reader = std::mem::replace(reader, super::Reader::new(Offset(0))).reopened(now);
                    let end = |(offset, parked): (&Offset, &super::Parked)| super::LeaseEnd {
                        at: parked.not_before,
                        timeline: id.lane(*lane),
                        subscription: *number,
                        offset: *offset,
                    };
                    self.agenda.parked.extend(reader.parked.iter().map(end));
                }
            }
        }
    }

    /// Ends the batch: everything that the commands since the last seal wrote, with the state they
    /// changed. `None` when there is nothing that must be written.
    pub fn seal(&mut self, clock: ShardClock) -> Option<Batch> {
        if self.pen.writes.is_empty() && self.pen.dirty.is_empty() {
            return None;
        }
        let mut writes = std::mem::take(&mut self.pen.writes);
        let mut keys = std::mem::take(&mut self.pen.dirty);
        keys.append(&mut self.pen.lazy);
        self.meta.boot = clock.boot;
        self.meta.boottime_ns = clock.boottime_ns;
        self.meta.time_ns = clock.time_ns;
        keys.insert(StateKey::Shard);
        writes.extend(keys.into_iter().map(|key| Write::SetState { key: key.to_bytes(), value: self.piece(key) }));
        Some(Batch { now: self.reclaimable(), writes })
    }

    /// Up to when index entries may be reclaimed: not past what is due and has not crossed, for
    /// which its entries speak until it has, be it late because the broker was down or held.
    fn reclaimable(&self) -> Time {
        self.agenda.due.first().map_or(self.meta.time, |(due, _)| self.meta.time.min(*due))
    }

    /// The value of a piece of state, `None` when it is gone.
    fn piece(&self, key: StateKey) -> Option<Bytes> {
        match key {
            StateKey::Shard => Some(self.meta.encode()),
            StateKey::Timeline(id) => Some(self.timeline(id)?.state().encode()),
            StateKey::Reader(id, subscription) => {
                let reader = self.reader(id, subscription)?;
                let (floor, began_at) = (reader.acks.floor(), reader.began_at);
                Some(reader_state::encode(reader_state::ReaderState { floor, began_at }))
            }
            StateKey::AckChunk(id, subscription, number) => {
                self.reader(id, subscription)?.acks.chunk(number).map(reader_state::encode_chunk)
            }
            StateKey::Failure(id, subscription, offset) => {
                self.reader(id, subscription)?.failures.get(&offset).map(Failure::encode)
            }
            StateKey::SubscriptionTotals(topic, partition, number) => {
                let partition = self.partitions.get(&PartitionId { topic, partition })?;
                Some(partition.subscriptions.get(&number)?.totals.encode())
            }
            StateKey::PartitionTotals(topic, partition) => {
                Some(self.partitions.get(&PartitionId { topic, partition })?.totals.encode())
            }
            StateKey::Arrived(source) => self.arrived.get(&source).map(|last| encode_arrived(*last)),
        }
    }
}
