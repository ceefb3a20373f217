//! Messages kept in memory between the line and the consumers, so that each is read once.

use std::collections::{HashMap, VecDeque};

use punctual_types::{Position, Read, Record, TimelineId};

use super::limits::{READY_BYTES_MAX, READY_BYTES_WORKER_MAX};

/// A stretch of one timeline without gaps.
#[derive(Debug, Default)]
struct Stretch {
    /// The position before the first record.
    before: Position,
    records: VecDeque<Record>,
    bytes: usize,
}

/// Stretches by timeline. A cache: everything in it lies in the store too.
#[derive(Debug, Default)]
pub(super) struct ReadyBuffer {
    stretches: HashMap<TimelineId, Stretch>,
    bytes: usize,
}

impl ReadyBuffer {
    /// Adds records that follow each other and come right after `before`.
    pub(super) fn extend(&mut self, timeline: TimelineId, before: Position, records: &[Record]) {
        if records.is_empty() {
            return;
        }
        let stretch = self.stretches.entry(timeline).or_default();
        let end = stretch.records.back().map(|record| record.position);
        if end != Some(before) {
            self.bytes -= stretch.bytes;
            *stretch = Stretch { before, ..Stretch::default() };
        }
        for record in records {
            stretch.bytes += record.value.len();
            self.bytes += record.value.len();
            stretch.records.push_back(record.clone());
        }
        while stretch.bytes > READY_BYTES_MAX
            && let Some(first) = stretch.records.pop_front()
        {
            stretch.before = first.position;
            stretch.bytes -= first.value.len();
            self.bytes -= first.value.len();
        }
        if self.bytes > READY_BYTES_WORKER_MAX {
            // Which timelines are read again soon is not known: start over with this one alone.
            self.stretches.retain(|kept, _| *kept == timeline);
            self.bytes = self.stretches.values().map(|stretch| stretch.bytes).sum();
        }
    }

    /// Answers a window of whole records with what lies here of it: at least one record, or `None`.
    pub(super) fn answer(&self, read: &Read) -> Option<Vec<Record>> {
        let Read::Window { timeline, after, to, limit, bytes_max, values: true } = read else { return None };
        let stretch = self.stretches.get(timeline).filter(|stretch| *after >= stretch.before)?;
        let start = stretch.records.partition_point(|record| record.position <= *after);
        let mut bytes = 0;
        let mut found = Vec::new();
        for record in stretch.records.range(start..).take(*limit as usize) {
            if record.position > *to || bytes >= *bytes_max {
                break;
            }
            bytes += record.value.len() as u64;
            found.push(record.clone());
        }
        (!found.is_empty()).then_some(found)
    }

    /// Forgets what lies at or before a position: its readers have passed it.
    pub(super) fn pass(&mut self, timeline: TimelineId, position: Position) {
        let Some(stretch) = self.stretches.get_mut(&timeline) else { return };
        while let Some(first) = stretch.records.front().filter(|record| record.position <= position) {
            stretch.before = first.position;
            stretch.bytes -= first.value.len();
            self.bytes -= first.value.len();
            stretch.records.pop_front();
        }
        if stretch.records.is_empty() {
            self.stretches.remove(&timeline);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use punctual_types::{PartitionNumber, Seq, Time, TopicNumber};

    use super::*;

    const TIMELINE: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));

    fn position(n: u64) -> Position {
        Position::new(Time::from_unix_ms(n).expect("small"), Seq(n))
    }

    fn records(range: std::ops::Range<u64>) -> Vec<Record> {
        range.map(|n| Record { position: position(n), value: Bytes::from(vec![0; 10]) }).collect()
    }

    fn ask(buffer: &ReadyBuffer, after: u64, to: u64, limit: u32, bytes_max: u64) -> Option<Vec<u64>> {
        let (after, to) = (position(after), position(to));
        let read = Read::Window { timeline: TIMELINE, after, to, limit, bytes_max, values: true };
        Some(buffer.answer(&read)?.iter().map(|record| record.position.seq.0).collect())
    }

    #[test]
    fn a_stretch_answers_from_inside_itself_and_says_nothing_of_what_it_does_not_hold() {
        let mut buffer = ReadyBuffer::default();
        buffer.extend(TIMELINE, position(4), &records(5..10));
        assert_eq!(ask(&buffer, 4, 100, 3, 1000), Some(vec![5, 6, 7]));
        assert_eq!(ask(&buffer, 6, 8, 100, 1000), Some(vec![7, 8]));
        assert_eq!(ask(&buffer, 4, 100, 100, 15), Some(vec![5, 6]));
        assert_eq!(ask(&buffer, 3, 100, 100, 1000), None, "4 may lie in the store");
        assert_eq!(ask(&buffer, 9, 100, 100, 1000), None, "what follows may lie in the store");
    }

    #[test]
    fn a_gap_begins_a_new_stretch() {
        let mut buffer = ReadyBuffer::default();
        buffer.extend(TIMELINE, position(0), &records(1..3));
        buffer.extend(TIMELINE, position(2), &records(3..5));
        assert_eq!(ask(&buffer, 0, 100, 100, 1000), Some(vec![1, 2, 3, 4]));
        buffer.extend(TIMELINE, position(7), &records(8..9));
        assert_eq!(ask(&buffer, 0, 100, 100, 1000), None);
        assert_eq!(ask(&buffer, 7, 100, 100, 1000), Some(vec![8]));
        assert_eq!(buffer.bytes, 10);
    }

    #[test]
    fn what_was_passed_is_forgotten() {
        let mut buffer = ReadyBuffer::default();
        buffer.extend(TIMELINE, position(0), &records(1..5));
        buffer.pass(TIMELINE, position(3));
        assert_eq!((buffer.bytes, ask(&buffer, 3, 100, 100, 1000)), (10, Some(vec![4])));
        buffer.pass(TIMELINE, position(9));
        assert_eq!(buffer.bytes, 0);
    }
}
