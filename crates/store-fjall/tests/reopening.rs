//! What was committed is there again after the store was closed and opened.

use bytes::Bytes;
use punctual_store_api::{Store, testing::wait};
use punctual_store_fjall::{FjallStore, OpenOptions};
use punctual_types::{
    Batch, PartitionNumber, Position, Read, ReadReply, Record, Seq, ShardNumber, Time, TimelineId, TopicNumber, Write,
};

#[test]
fn what_was_committed_is_there_after_a_clean_close() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("data");
    let timeline = TimelineId::main(TopicNumber(1), PartitionNumber(0));
    let position = Position::new(Time::from_unix_ms(1000).expect("in range"), Seq(1));
    let record = Bytes::from_static(b"hello");
    {
        let store = FjallStore::open(&path, &OpenOptions::new(4, *b"0123456789abcdef")).expect("opens");
        let shard = store.shard(ShardNumber(2)).expect("a shard");
        let insert = Write::Insert { timeline, position, record: record.clone() };
        let commit = wait(shard.commit(Batch { now: Time::ZERO, writes: vec![insert] })).expect("written");
        assert_eq!(wait(shard.durable(commit)).expect("durable").commit(), commit);
        store.close().expect("closes");
    }
    let store = FjallStore::open(&path, &OpenOptions::new(9, [0; 16])).expect("opens again");
    assert_eq!((store.shards(), store.secret()), (4, *b"0123456789abcdef"));
    let shard = store.shard(ShardNumber(2)).expect("a shard");
    let window =
        Read::Window { timeline, after: Position::MIN, to: Position::MAX, limit: 9, bytes_max: 999, values: true };
    let replies = wait(shard.read(vec![window])).expect("read");
    assert_eq!(replies, [ReadReply::Records(vec![Record { position, value: record }])]);
}
