//! What was read for the commands of a batch, kept true while they are applied.

use std::collections::HashMap;

use bytes::Bytes;
use punctual_types::{IndexEntry, IndexPlace, Position, Read, ReadReply, Record, TimelineId, Write};

/// Answers to reads, by read.
///
/// Commands of one batch are read for together and applied one after the other, so a later one
/// must see what an earlier one wrote: point answers (an index entry, one record) are replaced by
/// [`Facts::note`]. Answers to windows are not, which is why a runtime applies the commands that
/// read windows only after the batch before them is written. What they write themselves must be
/// written too before anything is read for the commands after them: a range that was cancelled is
/// in no fact.
#[derive(Debug, Default)]
pub struct Facts {
    known: HashMap<Read, ReadReply>,
}

impl Facts {
    /// Takes an answer.
    pub fn learn(&mut self, read: Read, reply: ReadReply) {
        self.known.insert(read, reply);
    }

    /// Whether the answer to a read is there.
    #[must_use]
    pub fn knows(&self, read: &Read) -> bool {
        self.known.contains_key(read)
    }

    /// Makes what is known agree with a write of the batch that is being made.
    pub(crate) fn note(&mut self, write: &Write) {
        match write {
            Write::PutIndex { place, entry } => {
                self.known.insert(Read::Lookup(*place), ReadReply::Entry(Some(*entry)));
            }
            Write::Insert { timeline, position, record } => {
                let read = Read::Record { timeline: *timeline, position: *position };
                // Only a batch that reads at all can come to read this record again.
                if !self.known.is_empty() {
                    self.known.insert(read, ReadReply::Record(Some(record.clone())));
                }
            }
            Write::Remove { timeline, position } => {
                let read = Read::Record { timeline: *timeline, position: *position };
                self.known.insert(read, ReadReply::Record(None));
            }
            Write::RemoveRange { .. } | Write::Anchor { .. } | Write::RaiseFloor { .. } | Write::SetState { .. } => {}
        }
    }

    /// The index entry, if it was read and is there.
    pub(crate) fn entry(&self, place: IndexPlace) -> Option<IndexEntry> {
        match self.known.get(&Read::Lookup(place)) {
            Some(ReadReply::Entry(entry)) => *entry,
            _ => None,
        }
    }

    /// The record, if it was read and is there.
    pub(crate) fn record(&self, timeline: TimelineId, position: Position) -> Option<&Bytes> {
        match self.known.get(&Read::Record { timeline, position }) {
            Some(ReadReply::Record(record)) => record.as_ref(),
            _ => None,
        }
    }

    /// The records that answer a window or an offset read.
    pub(crate) fn records(&self, read: &Read) -> &[Record] {
        match self.known.get(read) {
            Some(ReadReply::Records(records)) => records,
            _ => &[],
        }
    }

    /// The same, taken out: the records are the caller's.
    pub(crate) fn take_records(&mut self, read: &Read) -> Vec<Record> {
        match self.known.remove(read) {
            Some(ReadReply::Records(records)) => records,
            _ => Vec::new(),
        }
    }

    /// The offset that answers an offset question.
    pub(crate) fn offset(&self, read: &Read) -> Option<punctual_types::Offset> {
        match self.known.get(read) {
            Some(ReadReply::Offset(offset)) => *offset,
            _ => None,
        }
    }

    /// Notes that a read is wanted, unless its answer is known. Asked twice is read twice; rare enough.
    pub(crate) fn want(&self, wanted: &mut Vec<Read>, read: Read) {
        if !self.knows(&read) {
            wanted.push(read);
        }
    }
}
