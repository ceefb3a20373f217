//! Making a scheduled message due at once.

use punctual_types::Now;

use super::{
    Answer, MessageHandle,
    locate::{Located, Outcome},
};
use crate::{
    Facts,
    state::{PartitionId, Shard},
};

/// What became of a deliver-now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverNowAnswer {
    /// It is due now.
    DeliveredNow,
    /// It had crossed the line by itself.
    TooLate,
    /// There is no such message.
    NotFound,
}

impl Shard {
    pub(super) fn deliver_now(
        &mut self,
        id: PartitionId,
        handle: &MessageHandle,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        Answer::DeliveredNow(match self.locate(id, handle, facts, now) {
            Located::Scheduled { standing, record } => {
                self.move_to(standing, standing.timeline, *record, now.floor, Outcome::DeliveredNow, facts, now);
                DeliverNowAnswer::DeliveredNow
            }
            Located::Decided { outcome: Outcome::DeliveredNow } => DeliverNowAnswer::DeliveredNow,
            Located::Crossed => {
                self.remember_crossed(id, handle, facts, now);
                DeliverNowAnswer::TooLate
            }
            Located::Prepared { .. } | Located::Decided { .. } | Located::Unknown => DeliverNowAnswer::NotFound,
        })
    }
}
