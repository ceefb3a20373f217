//! A partition as a log: reading by offset, and committing offsets for stream subscriptions.
//!
//! Offsets are those that the line gave, on the main lane; what is ahead of the line and what is to be
//! tried again is not in the log. A stream's floor is the offset it committed: it leases nothing.

use punctual_types::{Lane, Offset, Position, Read, SubscriptionNumber, Time, TimelineId};

use super::Answer;
use crate::{
    Facts,
    format::MessageRecord,
    state::{PartitionId, Shard},
};

/// Which offsets a partition has, and where somebody stands among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOffsets {
    /// The first that can still be read.
    pub earliest: Offset,
    /// The one that is given next.
    pub next: Offset,
    /// What the subscription has committed, where one was named that is there.
    pub committed: Option<Offset>,
    /// The first that was due at or after the time that was named, or the next.
    pub at: Offset,
}

/// Messages by offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRead {
    /// What was read, in order. What cannot be read is left out.
    pub records: Vec<(Offset, MessageRecord)>,
    /// The offset that is given next.
    pub next: Offset,
}

impl Shard {
    pub(super) fn log_offsets_reads(&self, id: PartitionId, at: Option<Time>, facts: &Facts, wanted: &mut Vec<Read>) {
        if let Some(at) = at {
            self.first_due_reads(id.lane(Lane::MAIN), at, facts, wanted);
        }
    }

    pub(super) fn log_offsets(
        &self,
        id: PartitionId,
        number: Option<SubscriptionNumber>,
        at: Option<Time>,
        facts: &Facts,
    ) -> Answer {
        if !self.partitions.contains_key(&id) {
            return Answer::Gone;
        }
        let main = id.lane(Lane::MAIN);
        let (earliest, next) = self.log_bounds(main);
        let reader = number.and_then(|number| self.reader(main, number));
        let at = at.and_then(|at| self.offset_due_from(main, at, facts)).unwrap_or(next);
        Answer::LogOffsets(LogOffsets { earliest, next, committed: reader.map(|reader| reader.acks.floor()), at })
    }

    fn log_bounds(&self, id: TimelineId) -> (Offset, Offset) {
        self.timeline(id).map_or((Offset(0), Offset(0)), |timeline| (timeline.floor.offset, timeline.line.offset))
    }

    /// The reads for messages from an offset on: the first by its offset, the others after it.
    fn log_windows(&self, id: TimelineId, from: Offset, max: u32, bytes_max: u64, facts: &Facts) -> Vec<Read> {
        let Some(timeline) = self.timeline(id) else { return Vec::new() };
        let to = timeline.line.position;
        let window = |after: Position, limit: u32| {
            let window = Read::Window { timeline: id, after, to, limit, bytes_max, values: true };
            (limit > 0 && after < to).then_some(window)
        };
        if from >= timeline.line.offset {
            return Vec::new();
        }
        if from <= timeline.floor.offset {
            return window(timeline.floor.position, max).into_iter().collect();
        }
        let first = Read::AtOffset { timeline: id, offset: from, limit: 1 };
        let rest = facts.records(&first).first().and_then(|record| {
            let fits = (record.value.len() as u64) < bytes_max;
            window(record.position, max - 1).filter(|_| fits)
        });
        [first].into_iter().chain(rest).collect()
    }

    pub(super) fn read_log_reads(
        &self,
        id: PartitionId,
        from: Offset,
        max: u32,
        bytes_max: u64,
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        for read in self.log_windows(id.lane(Lane::MAIN), from, max, bytes_max, facts) {
            facts.want(wanted, read);
        }
    }

    pub(super) fn read_log(
        &self,
        id: PartitionId,
        from: Offset,
        max: u32,
        bytes_max: u64,
        facts: &mut Facts,
    ) -> Answer {
        if !self.partitions.contains_key(&id) {
            return Answer::Gone;
        }
        let main = id.lane(Lane::MAIN);
        let (earliest, next) = self.log_bounds(main);
        let windows = self.log_windows(main, from, max, bytes_max, facts);
        let stored: Vec<_> = windows.iter().flat_map(|read| facts.take_records(read)).collect();
        let offsets = (from.max(earliest).0..).map(Offset);
        let record = |(offset, value)| Some((offset, MessageRecord::decode(value).ok()?));
        let records = offsets.zip(stored.into_iter().map(|stored| stored.value)).filter_map(record).collect();
        Answer::LogRead(LogRead { records, next })
    }

    /// Sets what a stream has committed, forward or back; `false` past the next offset. Below the earliest
    /// it stands at the earliest.
    pub(super) fn commit_offset(
        &mut self,
        id: PartitionId,
        number: SubscriptionNumber,
        offset: Offset,
        facts: &mut Facts,
    ) -> Answer {
        let main = id.lane(Lane::MAIN);
        let (earliest, next) = self.log_bounds(main);
        let Some(before) = self.reader(main, number).map(|reader| reader.acks.floor()) else { return Answer::Gone };
        if offset > next {
            return Answer::OffsetCommitted(false);
        }
        let offset = offset.max(earliest);
        if offset != before {
            self.seek_reader(main, number, offset);
            self.follow_floor(facts, main);
        }
        if offset < before {
            self.look_again(main);
        }
        Answer::OffsetCommitted(true)
    }
}
