//! Answering reads from a snapshot.
//!
//! Every scan seeks straight to where it begins and never below the floor: before the floor may
//! lie any number of records that are dead and not yet reclaimed.

use std::ops::Bound::{Excluded, Included};

use bytes::Bytes;
use fjall::{Readable, Snapshot};
use punctual_store_api::StoreError;
use punctual_types::{
    IndexEntry, IndexPlace, Mark, Offset, Position, Read, ReadReply, Record, Seq, ShardNumber, TimelineId,
};

use crate::{
    count::Counting,
    failure, keys,
    keys::{Family, anchor, record},
    store::Shared,
};

/// The answer to a read, or the count that will give it.
pub(crate) enum Answer {
    Reply(ReadReply),
    Count(Counting),
}

/// A window's bounds.
struct Page {
    limit: u32,
    bytes_max: u64,
    values: bool,
}

/// Answers reads of one shard, all from one moment.
pub(crate) struct Reader<'a> {
    shared: &'a Shared,
    shard: ShardNumber,
    snapshot: Snapshot,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(shared: &'a Shared, shard: ShardNumber) -> Self {
        Self { shared, shard, snapshot: shared.database.snapshot() }
    }

    pub(crate) fn answer(&self, read: Read) -> Result<Answer, StoreError> {
        let floors = self.shared.floors(self.shard);
        loop {
            let raised = floors.raised();
            let answer = self.answer_once(read)?;
            if raised == floors.raised() {
                return Ok(answer);
            }
            // A floor rose meanwhile, and below it records may vanish at any time. What was
            // counted from the old one proves nothing.
        }
    }

    fn answer_once(&self, read: Read) -> Result<Answer, StoreError> {
        let reply = match read {
            Read::Window { timeline, after, to, limit, bytes_max, values } => {
                let after = after.max(self.floor(timeline).position);
                ReadReply::Records(self.window(timeline, after, to, 0, Page { limit, bytes_max, values })?)
            }
            Read::Record { timeline, position } => ReadReply::Record(self.record(timeline, position)?),
            Read::AtOffset { timeline, offset, limit } => ReadReply::Records(self.at_offset(timeline, offset, limit)?),
            Read::OffsetOf { timeline, position } => ReadReply::Offset(self.offset_of(timeline, position)?),
            Read::Lookup(place) => ReadReply::Entry(self.lookup(place)?),
            Read::Count { timeline, after, to, bucket_ms } => {
                let after = after.max(self.floor(timeline).position);
                return Ok(Answer::Count(Counting::new(self.shard, timeline, (after, to), bucket_ms)));
            }
        };
        Ok(Answer::Reply(reply))
    }

    fn window(
        &self,
        timeline: TimelineId,
        after: Position,
        to: Position,
        skip: u64,
        page: Page,
    ) -> Result<Vec<Record>, StoreError> {
        let mut found = Vec::new();
        if after >= to {
            return Ok(found);
        }
        let mut bytes = 0;
        let mut skipped = 0;
        for guard in self.records(timeline, after, to) {
            if skipped < skip {
                guard.key().map_err(|error| self.failed(error))?;
                skipped += 1;
                continue;
            }
            let (key, value) = guard.into_inner().map_err(|error| self.failed(error))?;
            let position = self.position(&key)?;
            // Shares fjall's block or memtable entry, so nothing is copied.
            let value = if page.values { Bytes::from(value) } else { Bytes::new() };
            bytes += value.len() as u64;
            found.push(Record { position, value });
            if found.len() >= page.limit as usize || bytes >= page.bytes_max {
                break;
            }
        }
        Ok(found)
    }

    fn record(&self, timeline: TimelineId, position: Position) -> Result<Option<Bytes>, StoreError> {
        if position <= self.floor(timeline).position {
            return Ok(None);
        }
        let key = record::key(self.shard, timeline, position);
        let value = self.snapshot.get(&self.shared.keyspaces.records, key).map_err(|error| self.failed(error))?;
        Ok(value.map(Bytes::from))
    }

    fn at_offset(&self, timeline: TimelineId, offset: Offset, limit: u32) -> Result<Vec<Record>, StoreError> {
        let floor = self.floor(timeline);
        let from = anchor::by_offset(self.shard, timeline, floor.offset);
        let to = anchor::by_offset(self.shard, timeline, offset.max(floor.offset));
        let mark = self.nearest(floor, from.as_slice(), to.as_slice())?;
        let skip = offset.0.saturating_sub(mark.offset.0);
        let page = Page { limit, bytes_max: u64::MAX, values: true };
        self.window(timeline, mark.position, Position::MAX, skip, page)
    }

    fn offset_of(&self, timeline: TimelineId, position: Position) -> Result<Option<Offset>, StoreError> {
        let floor = self.floor(timeline);
        if position <= floor.position || self.record(timeline, position)?.is_none() {
            return Ok(None);
        }
        let from = anchor::by_position(self.shard, timeline, floor.position);
        // The record at an anchor's own position is the last that the anchor passed, so an anchor
        // there is one too far.
        let to = anchor::by_position(self.shard, timeline, before(position));
        let mark = self.nearest(floor, from.as_slice(), to.as_slice())?;
        let mut passed = 0;
        for guard in self.records(timeline, mark.position, before(position)) {
            guard.key().map_err(|error| self.failed(error))?;
            passed += 1;
        }
        Ok(Some(Offset(mark.offset.0 + passed)))
    }

    /// The last anchor between two keys, or the floor when there is none above it.
    fn nearest(&self, floor: Mark, from: &[u8], to: &[u8]) -> Result<Mark, StoreError> {
        if from > to {
            return Ok(floor);
        }
        let Some(guard) = self.snapshot.range(&self.shared.keyspaces.state, from..=to).next_back() else {
            return Ok(floor);
        };
        let (key, value) = guard.into_inner().map_err(|error| self.failed(error))?;
        let (_, mark) = anchor::mark(&key, &value).ok_or_else(|| self.damaged("anchor", &key))?;
        Ok(if mark.position > floor.position { mark } else { floor })
    }

    fn lookup(&self, place: IndexPlace) -> Result<Option<IndexEntry>, StoreError> {
        let key = keys::index::key(self.shard, place);
        let value = self.snapshot.get(&self.shared.keyspaces.index, key).map_err(|error| self.failed(error))?;
        value.map(|value| keys::index::entry(&value).ok_or_else(|| self.damaged("index entry", &key))).transpose()
    }

    /// The records after one position and up to another; the caller has put them in order.
    fn records(&self, timeline: TimelineId, after: Position, to: Position) -> fjall::Iter {
        let after = record::key(self.shard, timeline, after);
        let to = record::key(self.shard, timeline, to);
        // An empty range is written so that it is one: fjall does not like them inverted.
        let to = if to <= after { after } else { to };
        self.snapshot
            .range::<&[u8], _>(&self.shared.keyspaces.records, (Excluded(after.as_slice()), Included(to.as_slice())))
    }

    fn floor(&self, timeline: TimelineId) -> Mark {
        self.shared.floors(self.shard).get(timeline)
    }

    fn position(&self, key: &[u8]) -> Result<Position, StoreError> {
        record::parts(key).map(|(_, position)| position).ok_or_else(|| self.damaged("record key", key))
    }

    fn failed(&self, error: fjall::Error) -> StoreError {
        failure::reading(&self.shared.directory.shown(), error)
    }

    fn damaged(&self, what: &str, key: &[u8]) -> StoreError {
        StoreError::corrupt(self.shared.directory.shown(), format!("{what} {key:02x?} is none"))
    }
}

/// The last position before that of a record (which never has sequence number 0).
fn before(position: Position) -> Position {
    Position::new(position.due, Seq(position.seq.0.saturating_sub(1)))
}

impl Shared {
    /// Shows named state in key order.
    pub(crate) fn show_state(&self, shard: ShardNumber, show: &mut dyn FnMut(Bytes, Bytes)) -> Result<(), StoreError> {
        self.check()?;
        for guard in self.keyspaces.state.prefix(keys::family(shard, Family::Named)) {
            let (key, value) = guard.into_inner().map_err(|error| failure::reading(&self.directory.shown(), error))?;
            show(keys::state::name(key.into()), value.into());
        }
        Ok(())
    }
}
