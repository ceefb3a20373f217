//! Moving a scheduled message to another time. Its id, key, headers and dedup id stay.

use punctual_types::{DelayMs, Now, Time};

use super::{
    MessageHandle, Refused, decide_due,
    locate::{Located, Outcome},
};
use crate::{
    Facts,
    state::{Due, PartitionId, Shard},
};

/// What became of a reschedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RescheduleAnswer {
    /// It is due then.
    Rescheduled {
        /// The new due time.
        due: Time,
    },
    /// It has crossed the line.
    TooLate,
    /// There is no such message.
    NotFound,
}

impl Shard {
    pub(super) fn reschedule(
        &mut self,
        id: PartitionId,
        handle: &MessageHandle,
        due: Due,
        max_delay: Option<DelayMs>,
        facts: &mut Facts,
        now: Now,
    ) -> Result<RescheduleAnswer, Refused> {
        let due = decide_due(due, max_delay, now)?;
        Ok(match self.locate(id, handle, facts, now) {
            Located::Scheduled { standing, record } => {
                let moved = self.move_to(standing, standing.timeline, *record, due, Outcome::Moved, facts, now);
                RescheduleAnswer::Rescheduled { due: moved.due }
            }
            Located::Decided { outcome: Outcome::DeliveredNow } => RescheduleAnswer::TooLate,
            Located::Crossed => {
                self.remember_crossed(id, handle, facts, now);
                RescheduleAnswer::TooLate
            }
            Located::Prepared { .. } | Located::Decided { .. } | Located::Unknown => RescheduleAnswer::NotFound,
        })
    }
}
