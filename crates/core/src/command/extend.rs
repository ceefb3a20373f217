//! Letting a lease run longer.

use punctual_types::{DelayMs, Now, Time};

use super::Answer;
use crate::state::{LeaseEnd, LeaseRef, ReceiptState, Shard};

/// What became of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendAnswer {
    /// The lease runs until then.
    Extended {
        /// When it ends.
        expires_at: Time,
    },
    /// It ended before.
    LeaseLost,
}

impl Shard {
    pub(super) fn extend(&mut self, leases: &[LeaseRef], lease_ms: DelayMs, now: Now) -> Answer {
        let expires_at = now.ceil.saturating_add(lease_ms);
        let mut answers = Vec::with_capacity(leases.len());
        for lease in leases {
            if self.receipt(lease) != ReceiptState::Live {
                answers.push(ExtendAnswer::LeaseLost);
                continue;
            }
            let Some(held) = self
                .reader_mut(lease.timeline, lease.subscription)
                .and_then(|reader| reader.leases.get_mut(&lease.offset))
            else {
                continue;
            };
            let before = std::mem::replace(&mut held.expires_at, expires_at);
            let (timeline, subscription, offset) = (lease.timeline, lease.subscription, lease.offset);
            self.agenda.lease_ends.remove(&LeaseEnd { at: before, timeline, subscription, offset });
            self.agenda.lease_ends.insert(LeaseEnd { at: expires_at, timeline, subscription, offset });
            answers.push(ExtendAnswer::Extended { expires_at });
        }
        Answer::Extended(answers)
    }
}
