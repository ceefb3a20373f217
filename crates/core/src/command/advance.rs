//! Moving the now-line: what it crosses gets offsets, and is never moved or removed again.

use punctual_types::{Mark, Now, Offset, Position, Read, Record, Seq, TimelineId, Write, limits};

use super::Answer;
use crate::{Facts, format::StateKey, state::Shard};

/// Bytes of records that an advance reads at most, when it reads whole records.
const ADVANCE_BYTES_MAX: u64 = 8 << 20;

/// What crossed a line.
#[derive(Debug, Default)]
pub struct Crossed {
    /// The offset of the first.
    pub first: Offset,
    /// What crossed, in order; values are empty unless they were asked for.
    pub records: Vec<Record>,
    /// Whether more may be due that this command did not reach.
    pub more: bool,
}

impl Shard {
    fn due_window(&self, id: TimelineId, values: bool, now: Now) -> Option<Read> {
        let timeline = self.timeline(id)?;
        let to = Position::after(now.floor);
        (timeline.line.position < to).then_some(Read::Window {
            timeline: id,
            after: timeline.line.position,
            to,
            limit: limits::ADVANCE_RECORDS_MAX,
            bytes_max: ADVANCE_BYTES_MAX,
            values,
        })
    }

    pub(super) fn next_window(id: TimelineId, now: Now) -> Read {
        let after = Position::after(now.floor);
        Read::Window { timeline: id, after, to: Position::MAX, limit: 1, bytes_max: 1, values: false }
    }

    pub(super) fn advance_reads(&self, id: TimelineId, values: bool, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        let Some(window) = self.due_window(id, values, now) else { return };
        if !facts.knows(&window) {
            wanted.push(window);
        } else if (facts.records(&window).len() as u64) < self.timeline(id).map_or(0, |timeline| timeline.scheduled) {
            // Nothing more is due than was read, perhaps: then the next one is to be known.
            facts.want(wanted, Self::next_window(id, now));
        }
    }

    pub(super) fn advance(
        &mut self,
        id: TimelineId,
        durable: Seq,
        values: bool,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let Some(window) = self.due_window(id, values, now) else { return Answer::Crossed(Crossed::default()) };
        // A topic that asks for less than a sync is offered what is written.
        let waits =
            self.partitions.get(&id.into()).and_then(|it| it.rules.as_ref()).is_none_or(|it| it.offers_wait_for_sync);
        let durable = if waits { durable } else { self.meta.last_seq };
        let due = facts.take_records(&window);
        let crossing = due.iter().take_while(|record| record.position.seq <= durable).count();
        let blocked_on = due.get(crossing).map(|record| (record.position.seq, record.position.due));
        let next = facts.records(&Self::next_window(id, now)).first().map(|record| record.position.due);
        let Some(partition) = self.partitions.get_mut(&id.into()) else { return Answer::Gone };
        let Some(timeline) = partition.timelines.get_mut(&id.lane) else { return Answer::Gone };
        let before = timeline.line;
        for record in due.iter().take(crossing) {
            assert!(record.position > timeline.line.position, "records of {id:?} came out of order");
            timeline.line = Mark { offset: timeline.line.offset.next(), position: record.position };
            if timeline.line.offset.0.is_multiple_of(limits::ANCHOR_EVERY) {
                self.pen.write(facts, Write::Anchor { timeline: id, mark: timeline.line });
            }
        }
        assert!(timeline.scheduled >= crossing as u64, "more of {id:?} came due than it holds");
        timeline.scheduled -= crossing as u64;
        timeline.blocked_on = blocked_on.map(|(seq, _)| seq);
        // The store stops early only at a limit, and then its last record is due, so that more may
        // be. Otherwise everything due was read, and `next` is what comes then.
        let stopped_early = timeline.scheduled > 0 && next.is_none() && blocked_on.is_none();
        let next_due = match blocked_on {
            Some((_, due)) => Some(due),
            None if timeline.scheduled == 0 => None,
            None if due.len() >= limits::ADVANCE_RECORDS_MAX as usize || stopped_early => {
                Some(timeline.line.position.due)
            }
            None if is_byte_bound(&due, values) => Some(timeline.line.position.due),
            None => next,
        };
        let more = blocked_on.is_none() && next_due.is_some_and(|due| due <= now.floor);
        if crossing > 0 {
            timeline.crossings.note(before.offset, now.floor);
            self.pen.touch(StateKey::Timeline(id));
        }
        self.agenda.set_due(id, &mut timeline.next_due, next_due);
        let mut records = due;
        records.truncate(crossing);
        if let Some(first) = records.first() {
            self.retain_crossed(id, first.position.due);
        }
        Answer::Crossed(Crossed { first: before.offset, records, more })
    }
}

/// Whether a window may have ended because of its bytes.
fn is_byte_bound(records: &[Record], values: bool) -> bool {
    values && records.iter().map(|record| record.value.len() as u64).sum::<u64>() >= ADVANCE_BYTES_MAX
}
