//! Asking after prepared messages that nobody has decided over.
//!
//! When one has been in doubt for its timeout, a copy with its own id goes to the topic's in-doubt topic,
//! whose consumers commit or roll back; after its last check it is rolled back.

use punctual_types::{DelayMs, Lane, Now, Position, Read, TimelineId, limits};

use super::{
    Answer,
    locate::{Outcome, Standing},
};
use crate::{
    Facts,
    format::MessageRecord,
    state::{PartitionId, Shard},
};

/// Bytes of records that a piece reads at most.
const PIECE_BYTES_MAX: u64 = 4 << 20;

impl Shard {
    fn checks_window(&self, id: TimelineId, now: Now) -> Option<Read> {
        let after = self.timeline(id)?.line.position;
        let to = Position::after(now.floor);
        let (limit, bytes_max) = (limits::CHECK_PIECE_MAX, PIECE_BYTES_MAX);
        (after < to).then_some(Read::Window { timeline: id, after, to, limit, bytes_max, values: true })
    }

    pub(super) fn check_reads(&self, id: TimelineId, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        if let Some(window) = self.checks_window(id, now) {
            facts.want(wanted, window);
            facts.want(wanted, Self::next_window(id, now));
        }
    }

    /// Takes the next piece of the prepared messages whose check is due.
    pub(super) fn check(&mut self, id: TimelineId, facts: &mut Facts, now: Now) -> Answer {
        let Some(window) = self.checks_window(id, now) else { return Answer::Done };
        let records = facts.take_records(&window);
        let bytes: u64 = records.iter().map(|record| record.value.len() as u64).sum();
        let full = records.len() >= limits::CHECK_PIECE_MAX as usize || bytes >= PIECE_BYTES_MAX;
        let last = records.last().map(|record| record.position);
        let mut soonest = facts.records(&Self::next_window(id, now)).first().map(|record| record.position.due);
        for stored in records {
            // A record that cannot be read stands where it is, and is found by nobody.
            let Ok(record) = MessageRecord::decode(stored.value) else { continue };
            let standing = Standing { message: record.message, timeline: id, position: stored.position };
            let next = self.check_one(standing, record, facts, now);
            soonest = [soonest, next.map(|position| position.due)].into_iter().flatten().min();
        }
        if let Some(last) = last {
            self.move_line(facts, id, last, 0);
        }
        if let Some(timeline) = self.partitions.get_mut(&id.into()).and_then(|it| it.timelines.get_mut(&id.lane)) {
            let next_due = if full { Some(now.floor) } else { soonest };
            self.agenda.set_due(id, &mut timeline.next_due, next_due.filter(|_| timeline.scheduled > 0));
        }
        Answer::Done
    }

    /// Asks once more, or gives up; answers when the next check is.
    fn check_one(
        &mut self,
        standing: Standing,
        mut record: MessageRecord,
        facts: &mut Facts,
        now: Now,
    ) -> Option<Position> {
        let mut prepared = record.prepared?;
        if prepared.checks >= prepared.max_checks {
            self.roll_back(standing, &record, facts, now);
            return None;
        }
        // Where there is no topic to ask in (it was deleted, and will be made again) it is not counted.
        prepared.checks += u32::from(self.ask_in_doubt(standing, &record, facts, now));
        record.prepared = Some(prepared);
        let due = now.ceil.saturating_add(prepared.timeout.max(DelayMs::from_ms(1)));
        Some(self.move_to(standing, standing.timeline, record, due, Outcome::Prepared, facts, now))
    }

    fn ask_in_doubt(&mut self, standing: Standing, record: &MessageRecord, facts: &mut Facts, now: Now) -> bool {
        let id = PartitionId::from(standing.timeline);
        let topic = self.partitions.get(&id).and_then(|it| it.rules.as_ref()?.in_doubt);
        let target = topic.map(|topic| PartitionId { topic, ..id });
        let Some(target) = target.filter(|target| self.partitions.contains_key(target)) else { return false };
        let copy = MessageRecord { prepared: None, expires_after: None, deliver_at: now.floor, ..record.clone() };
        let position = self.put_message(facts, target.lane(Lane::MAIN), now.floor, |_| copy);
        self.remember_dead_letter(target, record.message, position, facts, now);
        true
    }
}
