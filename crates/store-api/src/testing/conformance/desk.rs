//! A shard under test, and short words for what is done with it.

use std::sync::Arc;

use bytes::Bytes;
use punctual_types::{
    Batch, CommitNumber, Counted, HashBits, IndexEntry, IndexKind, IndexPlace, Mark, Offset, PartitionNumber, Position,
    Read, ReadReply, Record, Seq, ShardNumber, Time, TimelineId, TopicNumber, Write,
};

use crate::{
    ShardStore,
    testing::{Harness, wait},
};

/// The timeline that most tests use.
pub(crate) const TIMELINE: TimelineId = TimelineId::main(TopicNumber(7), PartitionNumber(1));
/// The shard that most tests use.
pub(crate) const SHARD: ShardNumber = ShardNumber(1);
/// Shards of a store under test.
pub(crate) const SHARDS: u16 = 3;

/// A store under test, seen through one of its shards.
pub(crate) struct Desk<H> {
    pub(crate) harness: H,
    pub(crate) shard: Arc<dyn ShardStore>,
}

impl<H: Harness> Desk<H> {
    pub(crate) fn new() -> Self {
        Self::over(H::create(SHARDS))
    }

    pub(crate) fn over(harness: H) -> Self {
        let shard = harness.store().shard(SHARD).expect("the shard opens");
        Self { harness, shard }
    }

    pub(crate) fn reopen(self) -> Self {
        let Self { harness, shard } = self;
        // The last door must be gone before the store can be opened again.
        drop(shard);
        Self::over(harness.reopen())
    }

    pub(crate) fn other(&self, shard: u16) -> Arc<dyn ShardStore> {
        self.harness.store().shard(ShardNumber(shard)).expect("the shard opens")
    }

    pub(crate) fn commit(&self, writes: Vec<Write>) -> CommitNumber {
        self.commit_at(0, writes)
    }

    pub(crate) fn commit_at(&self, now: u64, writes: Vec<Write>) -> CommitNumber {
        wait(self.shard.commit(Batch { now: time(now), writes })).expect("the batch is written")
    }

    pub(crate) fn make_durable(&self, commit: CommitNumber) {
        let durable = self.shard.durable(commit);
        self.harness.sync();
        assert_eq!(wait(durable).expect("the commit becomes durable").commit(), commit);
    }

    pub(crate) fn read(&self, read: Read) -> ReadReply {
        read_one(&*self.shard, read)
    }

    /// The positions of a window.
    pub(crate) fn window(&self, after: Position, to: Position) -> Vec<Position> {
        positions(self.read(Read::Window {
            timeline: TIMELINE,
            after,
            to,
            limit: u32::MAX,
            bytes_max: u64::MAX,
            values: true,
        }))
    }

    pub(crate) fn everything(&self) -> Vec<Position> {
        self.window(Position::MIN, Position::MAX)
    }

    pub(crate) fn record(&self, position: Position) -> Option<Bytes> {
        match self.read(Read::Record { timeline: TIMELINE, position }) {
            ReadReply::Record(record) => record,
            other => panic!("a record was asked for: {other:?}"),
        }
    }

    pub(crate) fn at_offset(&self, offset: u64, limit: u32) -> Vec<Position> {
        positions(self.read(Read::AtOffset { timeline: TIMELINE, offset: Offset(offset), limit }))
    }

    pub(crate) fn offset_of(&self, position: Position) -> Option<u64> {
        match self.read(Read::OffsetOf { timeline: TIMELINE, position }) {
            ReadReply::Offset(offset) => offset.map(|offset| offset.0),
            other => panic!("an offset was asked for: {other:?}"),
        }
    }

    pub(crate) fn lookup(&self, place: IndexPlace) -> Option<IndexEntry> {
        match self.read(Read::Lookup(place)) {
            ReadReply::Entry(entry) => entry,
            other => panic!("an entry was asked for: {other:?}"),
        }
    }

    pub(crate) fn count(&self, after: Position, to: Position, bucket_ms: u64) -> Vec<(u64, u64)> {
        match self.read(Read::Count { timeline: TIMELINE, after, to, bucket_ms }) {
            ReadReply::Counts(counts) => {
                counts.into_iter().map(|Counted { from, count }| (from.unix_ms(), count)).collect()
            }
            other => panic!("a count was asked for: {other:?}"),
        }
    }

    pub(crate) fn state(&self) -> Vec<(Bytes, Bytes)> {
        state_of(&*self.shard)
    }
}

pub(crate) fn state_of(shard: &dyn ShardStore) -> Vec<(Bytes, Bytes)> {
    let mut shown = Vec::new();
    shard.load_state(&mut |key, value| shown.push((key, value))).expect("the state is read");
    shown
}

pub(crate) fn read_one(shard: &dyn ShardStore, read: Read) -> ReadReply {
    let mut replies = wait(shard.read(vec![read])).expect("the read is answered");
    assert_eq!(replies.len(), 1, "one answer to one read");
    replies.remove(0)
}

pub(crate) fn records(reply: ReadReply) -> Vec<Record> {
    match reply {
        ReadReply::Records(records) => records,
        other => panic!("records were asked for: {other:?}"),
    }
}

fn positions(reply: ReadReply) -> Vec<Position> {
    let records = records(reply);
    for record in &records {
        assert_eq!(record.value, value(record.position), "the record at {:?}", record.position);
    }
    records.into_iter().map(|record| record.position).collect()
}

pub(crate) fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("a time before the year 10000")
}

pub(crate) fn at(due: u64, seq: u64) -> Position {
    Position::new(time(due), Seq(seq))
}

pub(crate) fn mark(offset: u64, position: Position) -> Mark {
    Mark { offset: Offset(offset), position }
}

/// What is stored at a position: different at each.
pub(crate) fn value(position: Position) -> Bytes {
    Bytes::from(format!("{}/{}", position.due.unix_ms(), position.seq))
}

pub(crate) fn insert(position: Position) -> Write {
    insert_on(TIMELINE, position)
}

pub(crate) fn insert_on(timeline: TimelineId, position: Position) -> Write {
    Write::Insert { timeline, position, record: value(position) }
}

pub(crate) fn remove(position: Position) -> Write {
    Write::Remove { timeline: TIMELINE, position }
}

pub(crate) fn remove_range(after: Position, to: Position, seq_max: u64) -> Write {
    Write::RemoveRange { timeline: TIMELINE, after, to, seq_max: Seq(seq_max) }
}

pub(crate) fn floor(offset: u64, position: Position) -> Write {
    Write::RaiseFloor { timeline: TIMELINE, mark: mark(offset, position) }
}

pub(crate) fn anchor(offset: u64, position: Position) -> Write {
    Write::Anchor { timeline: TIMELINE, mark: mark(offset, position) }
}

pub(crate) fn set(key: &str, value: &str) -> Write {
    Write::SetState { key: Bytes::from(key.to_owned()), value: Some(Bytes::from(value.to_owned())) }
}

pub(crate) fn forget(key: &str) -> Write {
    Write::SetState { key: Bytes::from(key.to_owned()), value: None }
}

pub(crate) fn place(handle: u8) -> IndexPlace {
    let hash: HashBits = [handle; 16];
    IndexPlace { index: IndexKind::Key, topic: TIMELINE.topic, partition: TIMELINE.partition, hash }
}

pub(crate) fn entry(seq: u64, expires_at: u64) -> IndexEntry {
    IndexEntry {
        priority: 3,
        first: at(5, seq),
        position: at(6, seq + 1),
        outcome: 2,
        at: time(7),
        expires_at: time(expires_at),
    }
}
