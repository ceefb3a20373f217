//! Acking: a bit, and the floor follows.

use std::collections::BTreeSet;

use super::Answer;
use crate::{
    Facts,
    format::StateKey,
    state::{LeaseRef, ReceiptState, Shard},
};

/// What became of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleAnswer {
    /// It was done, or had been done by the same receipt.
    Done,
    /// The lease ended before.
    LeaseLost,
}

impl Shard {
    /// What became of the lease that a receipt names.
    pub(crate) fn receipt(&self, lease: &LeaseRef) -> ReceiptState {
        match self.reader(lease.timeline, lease.subscription) {
            Some(reader) if lease.epoch == self.meta.epoch => reader.receipt(lease.offset, lease.serial),
            // Of an earlier ownership, or of a subscription that is gone.
            _ => ReceiptState::Lost,
        }
    }

    pub(super) fn ack(&mut self, leases: &[LeaseRef], facts: &mut Facts) -> Answer {
        let mut touched = BTreeSet::new();
        let mut answers = Vec::with_capacity(leases.len());
        for lease in leases {
            answers.push(match self.receipt(lease) {
                ReceiptState::Live => {
                    self.end_lease(lease.timeline, lease.subscription, lease.offset);
                    self.settle(lease.timeline, lease.subscription, lease.offset, Some(lease.serial));
                    touched.insert((lease.timeline, lease.subscription));
                    if let Some(subscription) = self.subscription_mut(lease.timeline.into(), lease.subscription) {
                        subscription.totals.acked += 1;
                        subscription.breaker.acked(lease.serial);
                    }
                    SettleAnswer::Done
                }
                ReceiptState::Acked => SettleAnswer::Done,
                ReceiptState::Lost => SettleAnswer::LeaseLost,
            });
        }
        for (timeline, subscription) in touched {
            self.pen.touch(StateKey::SubscriptionTotals(timeline.topic, timeline.partition, subscription));
            self.follow_floor(facts, timeline);
        }
        Answer::Settled(answers)
    }
}
