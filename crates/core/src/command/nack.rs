//! Nacking: the original is settled and a copy goes to the subscription's own retry timeline. An
//! ordered subscription tries again in place.

use std::collections::BTreeSet;

use punctual_types::{DelayMs, Now, Read};

use super::Answer;
use crate::{
    Facts,
    format::MessageRecord,
    state::{LeaseRef, ReceiptState, Shard},
};

/// A receipt to nack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NackItem {
    /// What.
    pub lease: LeaseRef,
    /// Random bits for the jitter of its delay.
    pub random: u64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NackAnswer {
    /// It will be tried again; or it has expired meanwhile and is dropped, as its topic says.
    Retry,
    /// It lies in the dead-letter topic.
    DeadLettered,
    /// The lease ended before.
    LeaseLost,
}

impl Shard {
    pub(super) fn nack_reads(&self, items: &[NackItem], facts: &Facts, wanted: &mut Vec<Read>) {
        for item in items.iter().filter(|item| self.receipt(&item.lease) == ReceiptState::Live) {
            let place = (item.lease.timeline, item.lease.subscription, item.lease.offset);
            if let Some(read) = self.record_read(place) {
                facts.want(wanted, read);
            }
        }
    }

    pub(super) fn nack(
        &mut self,
        items: &[NackItem],
        delay: Option<DelayMs>,
        error: Option<&str>,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let answers: Vec<_> = items.iter().map(|item| self.nack_one(item, delay, error, facts, now)).collect();
        let timelines: BTreeSet<_> = items.iter().map(|item| item.lease.timeline).collect();
        for timeline in timelines {
            self.follow_floor(facts, timeline);
        }
        Answer::Nacked(answers)
    }

    fn nack_one(
        &mut self,
        item: &NackItem,
        delay: Option<DelayMs>,
        error: Option<&str>,
        facts: &mut Facts,
        now: Now,
    ) -> NackAnswer {
        if self.receipt(&item.lease) != ReceiptState::Live {
            return NackAnswer::LeaseLost;
        }
        let (timeline, number, offset) = (item.lease.timeline, item.lease.subscription, item.lease.offset);
        let place = (timeline, number, offset);
        let last = self.is_last_attempt(place);
        let Some(lease) = self.end_lease(timeline, number, offset) else { return NackAnswer::LeaseLost };
        if let Some(sent) = self.lapse_ended(place, &lease, error, facts, now) {
            self.count_failed(place, lease.serial, now);
            return if sent { NackAnswer::DeadLettered } else { NackAnswer::Retry };
        }
        if last && self.dead_letter(place, &lease, error, facts, now) {
            self.count_failed(place, lease.serial, now);
            return NackAnswer::DeadLettered;
        }
        let rules = self.subscription(timeline.into(), number).map(|subscription| &subscription.rules);
        let (policy, ordered) = (rules.map(|rules| rules.retry), rules.is_some_and(|rules| rules.ordered));
        let delay = delay.or_else(|| Some(policy?.delay(lease.attempt.0, item.random))).unwrap_or_default();
        // The door has refused delays that end after the year 9999; what is left of one that would
        // is a millisecond's difference between its clock and ours.
        let due = if delay == DelayMs::ZERO { now.floor } else { now.ceil.saturating_add(delay) };
        if ordered {
            self.park(place, &lease, due, error, now);
            self.count_failed(place, lease.serial, now);
            return NackAnswer::Retry;
        }
        let stored = facts.record(timeline, lease.position).cloned();
        let Some(mut record) = stored.and_then(|bytes| MessageRecord::decode(bytes).ok()) else {
            // It was read when it was leased; now it cannot be. Keep it where it is.
            if let Some(reader) = self.reader_mut(timeline, number) {
                reader.damaged.insert(offset, lease.position);
            }
            return NackAnswer::Retry;
        };
        record.attempts = lease.attempt.0;
        record.first_delivered_at = Some(lease.first_delivered_at);
        record.last_error = error.map(str::to_owned).or(record.last_error.take());
        self.put_retry(timeline.into(), number, due, record, facts);
        if let Some(subscription) = self.subscription_mut(timeline.into(), number) {
            subscription.totals.retried += 1;
        }
        self.settle(timeline, number, offset, None);
        self.count_failed(place, lease.serial, now);
        NackAnswer::Retry
    }
}
