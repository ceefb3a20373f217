//! A store of one shard on a simulated disk, and short words for what is done with it.

use std::sync::Arc;

use crate::on_disk::options;
use bytes::Bytes;
use punctual_store_api::{ShardStore, Store, testing::wait};
use punctual_tide::{Syncing, TideStore, vfs::SimulatedDisk};
use punctual_types::{
    Batch, PartitionNumber, Position, Read, ReadReply, Seq, ShardNumber, Time, TimelineId, TopicNumber, Write,
};

pub(crate) const TIMELINE: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));

pub(crate) fn open(disk: &SimulatedDisk) -> (Arc<TideStore>, Arc<dyn ShardStore>) {
    let store = TideStore::open_on(Arc::new(disk.clone()), &options(1, Syncing::ByHand)).expect("opens");
    let door = store.shard(ShardNumber(0)).expect("a shard");
    (store, door)
}

pub(crate) fn at(due: u64, seq: u64) -> Position {
    Position::new(Time::from_unix_ms(due).expect("in range"), Seq(seq))
}

/// A position for each sequence number: due in an order that looks like none.
pub(crate) fn position(seq: u64) -> Position {
    at(1_000 + seq * 7919 % 90_001, seq)
}

pub(crate) fn value(position: Position) -> Bytes {
    Bytes::from(vec![position.seq.0 as u8; 40 + position.seq.0 as usize % 30])
}

pub(crate) fn insert(position: Position) -> Write {
    Write::Insert { timeline: TIMELINE, position, record: value(position) }
}

pub(crate) fn commit(door: &Arc<dyn ShardStore>, writes: Vec<Write>) {
    wait(door.commit(Batch { now: Time::ZERO, writes })).expect("written");
}

pub(crate) fn read(door: &Arc<dyn ShardStore>, read: Read) -> ReadReply {
    wait(door.read(vec![read])).expect("answered").remove(0)
}

/// All positions, each with the record that belongs there.
pub(crate) fn everything(door: &Arc<dyn ShardStore>) -> Vec<Position> {
    let (after, to) = (Position::MIN, Position::MAX);
    let window = Read::Window { timeline: TIMELINE, after, to, limit: u32::MAX, bytes_max: u64::MAX, values: true };
    let ReadReply::Records(records) = read(door, window) else { panic!("records") };
    records
        .into_iter()
        .map(|record| {
            assert_eq!(record.value, value(record.position), "{:?}", record.position);
            record.position
        })
        .collect()
}

pub(crate) fn sorted(positions: impl Iterator<Item = Position>) -> Vec<Position> {
    let mut positions: Vec<Position> = positions.collect();
    positions.sort_unstable();
    positions
}

/// Commits until there was another fold.
pub(crate) fn fold(store: &TideStore, door: &Arc<dyn ShardStore>) {
    let before = store.figures().folds;
    while store.figures().folds == before {
        commit(door, vec![Write::SetState { key: Bytes::from_static(b"k"), value: Some(vec![0; 500].into()) }]);
        store.sync().expect("synced");
    }
}
