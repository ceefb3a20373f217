//! Giving messages back to their places, attempts not raised.

use punctual_types::Position;

use super::{Answer, LeasePlace, SettleAnswer};
use crate::state::{LeaseRef, ReceiptState, Shard};

impl Shard {
    pub(super) fn release(&mut self, leases: &[LeaseRef]) -> Answer {
        let release = |lease: &LeaseRef| match self.receipt(lease) {
            ReceiptState::Live => {
                self.give_back((lease.timeline, lease.subscription, lease.offset));
                SettleAnswer::Done
            }
            ReceiptState::Acked | ReceiptState::Lost => SettleAnswer::LeaseLost,
        };
        Answer::Settled(leases.iter().map(release).collect())
    }

    /// Makes a leased message ready again at its own place.
    pub(super) fn give_back(&mut self, (timeline, subscription, offset): LeasePlace) -> Option<Position> {
        let lease = self.end_lease(timeline, subscription, offset)?;
        let reader = self.reader_mut(timeline, subscription)?;
        reader.returned.insert(offset, lease.position);
        Some(lease.position)
    }
}
