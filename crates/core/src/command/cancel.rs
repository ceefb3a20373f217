//! Cancelling: ahead of the line only, with a definite answer that is remembered.

use punctual_types::Now;

use super::{
    Answer, MessageHandle,
    locate::{Located, Outcome},
};
use crate::{
    Facts,
    state::{PartitionId, Shard},
};

/// What became of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It will not be delivered.
    Cancelled,
    /// It has crossed the line.
    TooLate,
    /// There is no such message.
    NotFound,
}

impl Shard {
    pub(super) fn cancel(&mut self, id: PartitionId, handle: &MessageHandle, facts: &mut Facts, now: Now) -> Answer {
        Answer::Cancelled(match self.locate(id, handle, facts, now) {
            Located::Scheduled { standing, record } => {
                self.take_away(standing, &record, Outcome::Cancelled, facts, now);
                self.count_cancelled(id, 1);
                CancelAnswer::Cancelled
            }
            Located::Prepared { standing, record } => {
                self.roll_back(standing, &record, facts, now);
                CancelAnswer::Cancelled
            }
            Located::Decided { outcome: Outcome::Cancelled | Outcome::RolledBack } => CancelAnswer::Cancelled,
            Located::Decided { outcome: Outcome::DeliveredNow } => CancelAnswer::TooLate,
            Located::Crossed => {
                self.remember_crossed(id, handle, facts, now);
                CancelAnswer::TooLate
            }
            Located::Decided { .. } | Located::Unknown => CancelAnswer::NotFound,
        })
    }
}
