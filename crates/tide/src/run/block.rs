//! A block: records of one timeline, one after the other: position (14), length (4), bytes.

use bytes::Bytes;
use punctual_types::{Position, Record};

use crate::codec::{Reader, put_position};

pub(super) fn put(to: &mut Vec<u8>, position: Position, record: &[u8]) {
    put_position(to, position);
    let len = u32::try_from(record.len()).expect("a record is shorter than a batch may be");
    to.extend_from_slice(&len.to_be_bytes());
    to.extend_from_slice(record);
}

/// The records of a block, which share its bytes; `None` when it is none.
pub(super) fn records(block: &Bytes) -> Option<Vec<Record>> {
    let mut reader = Reader::new(block);
    let mut records = Vec::new();
    while !reader.is_at_end() {
        let (position, len) = (reader.position()?, usize::try_from(reader.u32()?).ok()?);
        let at = reader.at();
        reader.take(len)?;
        records.push(Record { position, value: block.slice(at..at + len) });
    }
    records.is_sorted_by(|a, b| a.position < b.position).then_some(records)
}
