//! Deciding over a prepared message: it becomes an ordinary one, or never was.
//!
//! It waits on the partition's check timeline, where nobody reads. What was decided is kept for a day
//! under the message's own reference, so that whoever lost the answer may ask again.

use punctual_types::{DelayMs, IndexKind, IndexPlace, Lane, MessageRef, Now, Position, Read, Time, Write};

use super::{
    Answer, MessageHandle,
    locate::{Located, Outcome, Standing},
};
use crate::{
    Facts,
    format::MessageRecord,
    state::{PartitionId, Shard},
};

/// How long a decision is answered again.
const DECISION_KEPT: DelayMs = DelayMs::from_secs(24 * 3600);

/// What has been decided over a prepared message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedAnswer {
    /// It is a message like any other.
    Committed {
        /// Due then.
        due: Time,
    },
    /// It will not be delivered.
    RolledBack,
    /// No such message was prepared here, or its decision is forgotten.
    NotFound,
}

impl Shard {
    fn decision_place(&self, id: PartitionId, message: MessageRef) -> IndexPlace {
        self.place(id, IndexKind::Decision, &message.to_bytes())
    }

    pub(super) fn decide_reads(&self, id: PartitionId, message: MessageRef, facts: &Facts, wanted: &mut Vec<Read>) {
        facts.want(wanted, Read::Lookup(self.decision_place(id, message)));
        self.locate_reads(id, &MessageHandle::Message(message), facts, wanted);
    }

    /// Commits or rolls back; answers what was decided first.
    pub(super) fn decide(
        &mut self,
        id: PartitionId,
        message: MessageRef,
        commit: bool,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let decided = facts.entry(self.decision_place(id, message)).filter(|entry| now.floor < entry.expires_at);
        if let Some(entry) = decided {
            return Answer::Decided(match Outcome::of(&entry) {
                Outcome::Committed => PreparedAnswer::Committed { due: entry.position.due },
                _ => PreparedAnswer::RolledBack,
            });
        }
        let located = self.locate(id, &MessageHandle::Message(message), facts, now);
        let Located::Prepared { standing, record } = located else { return Answer::Decided(PreparedAnswer::NotFound) };
        if !commit {
            self.roll_back(standing, &record, facts, now);
            return Answer::Decided(PreparedAnswer::RolledBack);
        }
        let to = id.lane(Lane::Priority(message.priority));
        self.read_lane(id, to.lane);
        let due = record.deliver_at.max(now.floor);
        let record = MessageRecord { prepared: None, ..*record };
        let position = self.move_to(standing, to, record, due, Outcome::Moved, facts, now);
        self.note_decision(Outcome::Committed, Standing { timeline: to, position, ..standing }, facts, now);
        Answer::Decided(PreparedAnswer::Committed { due: position.due })
    }

    /// Takes a prepared message away for good.
    pub(super) fn roll_back(&mut self, standing: Standing, record: &MessageRecord, facts: &mut Facts, now: Now) {
        self.remove(facts, standing.timeline, standing.position);
        // Whoever asks is told when it was to be due, not when it was to be asked after.
        let standing = Standing { position: Position { due: record.deliver_at, ..standing.position }, ..standing };
        self.note_gone(standing, record, Outcome::RolledBack, facts, now);
        self.note_decision(Outcome::RolledBack, standing, facts, now);
        self.count_cancelled(standing.timeline.into(), 1);
    }

    fn note_decision(&mut self, outcome: Outcome, standing: Standing, facts: &mut Facts, now: Now) {
        let place = self.decision_place(standing.timeline.into(), standing.message);
        let entry = outcome.entry(standing, now.floor, now.floor.saturating_add(DECISION_KEPT));
        self.pen.write(facts, Write::PutIndex { place, entry });
    }
}
