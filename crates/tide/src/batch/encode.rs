//! From a batch to its bytes.

use punctual_types::{Batch, IndexEntry, IndexPlace, TimelineId, Write};

use super::Tag;
use crate::codec::{POSITION_BYTES, put_mark, put_position, put_time};

/// Appends the bytes of a batch. Records must each be shorter than 4 GiB, which the journal's
/// bound of a batch sees to.
pub(crate) fn encode(batch: &Batch, to: &mut Vec<u8>) {
    to.reserve(batch.writes.iter().map(bytes_of).sum());
    to.extend_from_slice(&batch.now.unix_ms().to_be_bytes());
    let mut current = None;
    for write in &batch.writes {
        step(write, &mut current, to);
    }
}

fn step(write: &Write, current: &mut Option<TimelineId>, to: &mut Vec<u8>) {
    let mut begin = |tag: Tag, timeline: &TimelineId, to: &mut Vec<u8>| {
        if *current != Some(*timeline) {
            *current = Some(*timeline);
            to.push(Tag::Timeline as u8);
            to.extend_from_slice(&timeline.to_bytes());
        }
        to.push(tag as u8);
    };
    match write {
        Write::Insert { timeline, position, record } => {
            begin(Tag::Insert, timeline, to);
            put_position(to, *position);
            put_len(to, record);
            // A check of its own, so that one record can be read and trusted without its batch.
            to.extend_from_slice(&crc32c::crc32c(record).to_be_bytes());
            to.extend_from_slice(record);
        }
        Write::Remove { timeline, position } => {
            begin(Tag::Remove, timeline, to);
            put_position(to, *position);
        }
        Write::RemoveRange { timeline, after, to: last, seq_max } => {
            begin(Tag::RemoveRange, timeline, to);
            put_position(to, *after);
            put_position(to, *last);
            to.extend_from_slice(&seq_max.0.to_be_bytes());
        }
        Write::Anchor { timeline, mark } => {
            begin(Tag::Anchor, timeline, to);
            put_mark(to, *mark);
        }
        Write::RaiseFloor { timeline, mark } => {
            begin(Tag::RaiseFloor, timeline, to);
            put_mark(to, *mark);
        }
        Write::PutIndex { place, entry } => {
            to.push(Tag::PutIndex as u8);
            put_place(to, place);
            put_entry(to, entry);
        }
        Write::SetState { key, value: Some(value) } => {
            to.push(Tag::SetState as u8);
            put_len(to, key);
            put_len(to, value);
            to.extend_from_slice(key);
            to.extend_from_slice(value);
        }
        Write::SetState { key, value: None } => {
            to.push(Tag::ForgetState as u8);
            put_len(to, key);
            to.extend_from_slice(key);
        }
    }
}

/// At least as many bytes as a write comes to, so that the buffer is made once.
fn bytes_of(write: &Write) -> usize {
    const MOST_OF_A_STEP: usize = 1 + TimelineId::BYTES + 1 + 2 * POSITION_BYTES + 40;
    MOST_OF_A_STEP
        + match write {
            Write::Insert { record, .. } => record.len(),
            Write::SetState { key, value } => key.len() + value.as_ref().map_or(0, bytes::Bytes::len),
            Write::Remove { .. }
            | Write::RemoveRange { .. }
            | Write::PutIndex { .. }
            | Write::Anchor { .. }
            | Write::RaiseFloor { .. } => 0,
        }
}

fn put_len(to: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("a part of a batch is shorter than a batch may be");
    to.extend_from_slice(&len.to_be_bytes());
}

fn put_place(to: &mut Vec<u8>, place: &IndexPlace) {
    to.push(place.index as u8);
    to.extend_from_slice(&place.topic.0.to_be_bytes());
    to.extend_from_slice(&place.partition.0.to_be_bytes());
    to.extend_from_slice(&place.hash);
}

fn put_entry(to: &mut Vec<u8>, entry: &IndexEntry) {
    to.push(entry.priority);
    put_position(to, entry.first);
    put_position(to, entry.position);
    to.push(entry.outcome);
    put_time(to, entry.at);
    put_time(to, entry.expires_at);
}
