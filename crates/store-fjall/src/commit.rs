//! Writing a batch.

use std::time::Duration;

use punctual_store_api::StoreError;
use punctual_types::{Batch, CommitNumber, Position, Seq, ShardNumber, TimelineId, Write};

use crate::{
    database::Keyspaces,
    failure,
    keys::{self, record},
    limits::SEALED_MEMTABLES_MAX,
    pending::Pending,
    store::Shared,
    syncer::Reclaimable,
};

/// Pause between two looks at whether a flush has made room.
const ROOM_POLL: Duration = Duration::from_millis(1);

impl Shared {
    /// Writes a batch of a shard: it is in the journal, handed to the operating system, and
    /// visible when this returns.
    pub(crate) fn commit(&self, shard: ShardNumber, batch: Batch) -> Result<CommitNumber, StoreError> {
        self.check()?;
        let now = batch.now;
        let mut pending = Pending::default();
        for write in batch.writes {
            self.gather(shard, write, &mut pending)?;
        }
        let floors = pending.floors();
        let reclaimable = Reclaimable {
            shard,
            now,
            floors: floors.iter().map(|(timeline, mark)| (keys::prefix(shard, *timeline), mark.position)).collect(),
        };
        let batch = pending.into_batch(&self.database, &self.keyspaces);

        // fjall writes batches one after the other in any case. Under a lock of ours the numbers
        // have the order of the journal.
        let writing = self.writing();
        self.wait_for_room()?;
        batch.commit().map_err(|error| self.fail(StoreError::failed("writing", self.directory.shown(), error)))?;
        // Before the number is known to the syncer, so that nothing is reclaimed below a floor
        // that reads do not see yet.
        for (timeline, mark) in floors {
            self.floors(shard).raise(timeline, mark);
        }
        let number = self.syncs.written(reclaimable);
        drop(writing);
        Ok(number)
    }

    /// Waits while flushing cannot follow. fjall would do so as well, but for ever once its flusher
    /// has died; here the latch ends the wait.
    fn wait_for_room(&self) -> Result<(), StoreError> {
        loop {
            self.check()?;
            let Keyspaces { records, index, state } = &self.keyspaces;
            if [records, index, state].iter().all(|keyspace| keyspace.sealed_memtable_count() < SEALED_MEMTABLES_MAX) {
                return Ok(());
            }
            std::thread::park_timeout(ROOM_POLL);
        }
    }

    fn gather(&self, shard: ShardNumber, write: Write, pending: &mut Pending) -> Result<(), StoreError> {
        match write {
            Write::Insert { timeline, position, record } => {
                pending.insert(record::key(shard, timeline, position), record);
            }
            Write::Remove { timeline, position } => pending.remove(record::key(shard, timeline, position)),
            Write::RemoveRange { timeline, after, to, seq_max } => {
                self.gather_range(shard, timeline, (after, to), seq_max, pending)?;
            }
            Write::PutIndex { place, entry } => {
                pending.put_index(keys::index::key(shard, place), keys::index::value(entry));
            }
            Write::Anchor { timeline, mark } => {
                let by_offset = keys::anchor::by_offset(shard, timeline, mark.offset);
                let by_position = keys::anchor::by_position(shard, timeline, mark.position);
                pending.put_state(by_offset.to_vec(), Some(keys::anchor::position_value(mark).to_vec().into()));
                pending.put_state(by_position.to_vec(), Some(keys::anchor::offset_value(mark).to_vec().into()));
            }
            Write::RaiseFloor { timeline, mark } => {
                if mark.position > self.floors(shard).get(timeline).position {
                    let value = keys::position::mark_to_bytes(mark).to_vec();
                    pending.put_state(keys::floor::key(shard, timeline).to_vec(), Some(value.into()));
                    pending.raise_floor(timeline, mark);
                }
            }
            Write::SetState { key, value } => pending.put_state(keys::state::key(shard, &key), value),
        }
        Ok(())
    }

    /// Removes what lies in a range and is old enough, one by one: callers bound their ranges.
    fn gather_range(
        &self,
        shard: ShardNumber,
        timeline: TimelineId,
        (after, to): (Position, Position),
        seq_max: Seq,
        pending: &mut Pending,
    ) -> Result<(), StoreError> {
        if after >= to {
            return Ok(());
        }
        let from = record::key(shard, timeline, after);
        let last = record::key(shard, timeline, to);
        let gone =
            |key: &[u8]| record::parts(key).is_some_and(|(_, position)| position > after && position.seq <= seq_max);
        pending.remove_inserted(from, last, |key| gone(key));
        for guard in self.keyspaces.records.range(from.as_slice()..=last.as_slice()) {
            let key = guard.key().map_err(|error| failure::reading(&self.directory.shown(), error))?;
            if gone(&key) {
                pending.remove(key.as_ref().try_into().expect("a key that has the parts of one"));
            }
        }
        Ok(())
    }
}
