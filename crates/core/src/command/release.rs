//! Giving messages back to their places, attempts not raised.

use punctual_types::{Now, Read};

use super::{Answer, LeasePlace, SettleAnswer};
use crate::{
    Facts,
    state::{LeaseRef, ReceiptState, Shard},
};

impl Shard {
    pub(super) fn release_reads(&self, leases: &[LeaseRef], now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        for lease in leases.iter().filter(|lease| self.receipt(lease) == ReceiptState::Live) {
            let place = (lease.timeline, lease.subscription, lease.offset);
            self.ending_reads(place, false, now, facts, wanted);
        }
    }

    pub(super) fn release(&mut self, leases: &[LeaseRef], facts: &mut Facts, now: Now) -> Answer {
        let release = |lease: &LeaseRef| match self.receipt(lease) {
            ReceiptState::Live => {
                self.give_back((lease.timeline, lease.subscription, lease.offset), facts, now);
                SettleAnswer::Done
            }
            ReceiptState::Acked | ReceiptState::Lost => SettleAnswer::LeaseLost,
        };
        Answer::Settled(leases.iter().map(release).collect())
    }

    /// Makes a leased message ready again at its own place, unless it has expired meanwhile.
    pub(super) fn give_back(&mut self, place: LeasePlace, facts: &mut Facts, now: Now) {
        let (timeline, subscription, offset) = place;
        let Some(lease) = self.end_lease(timeline, subscription, offset) else { return };
        if self.lapse_ended(place, &lease, None, facts, now).is_none()
            && let Some(reader) = self.reader_mut(timeline, subscription)
        {
            reader.returned.insert(offset, lease.position);
        }
    }
}
