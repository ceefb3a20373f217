//! A subscription on a partition.

use std::collections::BTreeMap;

use punctual_types::{ConsumerNumber, Lane, Offset, Time, limits};

use super::{
    breaker::{Breaker, BreakerState, Probe},
    pace::Pacer,
    reader::Reader,
    rules::SubscriptionRules,
};
use crate::format::subscription_totals::SubscriptionTotals;

/// A subscription on a partition, with a reader per timeline that it reads.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    pub(crate) rules: SubscriptionRules,
    pub(crate) readers: BTreeMap<Lane, Reader>,
    pub(crate) totals: SubscriptionTotals,
    /// Whose turn it is: retries and fresh messages take turns, so that neither starves the other.
    pub(crate) turn: u32,
    pub(crate) breaker: Breaker,
    pub(crate) pacer: Pacer,
    /// How many messages each consumer has.
    pub(crate) held: BTreeMap<ConsumerNumber, u32>,
}

impl Subscription {
    /// The reader of a lane, made at an offset when there is none.
    pub(crate) fn reader(&mut self, lane: Lane, floor: Offset) -> &mut Reader {
        self.readers.entry(lane).or_insert_with(|| Reader::new(floor))
    }

    /// Whether it may pass over messages of a lane instead of taking them as they come.
    pub(crate) fn picks(&self, lane: Lane) -> bool {
        self.rules.ordered || matches!(lane, Lane::Priority(_)) && self.rules.filter.is_some()
    }

    /// How many messages wait at their places to be tried again.
    pub(crate) fn parked(&self) -> u64 {
        self.readers.values().map(|reader| reader.parked.len() as u64).sum()
    }

    /// How many more messages consumers may have.
    pub(crate) fn room(&self) -> u64 {
        let leased = self.leased();
        let room = u64::from(self.rules.max_in_flight).saturating_sub(leased);
        // Each that is in flight may have to be parked.
        let parking = (limits::ORDERED_WAITING_MAX as u64).saturating_sub(leased + self.parked());
        if self.rules.ordered { room.min(parking) } else { room }
    }

    /// How many messages may be offered now.
    pub(crate) fn allowance(&self, now: Time) -> u64 {
        let through = match self.breaker.state(now) {
            BreakerState::Closed => u64::MAX,
            BreakerState::Open => 0,
            BreakerState::HalfOpen => u64::from(!self.is_probing()),
        };
        let pace = self.rules.pace.map_or(u64::MAX, |pace| self.pacer.allowed(pace, now));
        self.room().min(through).min(pace)
    }

    /// Whether a probe is with a consumer. One that was given back decided nothing.
    fn is_probing(&self) -> bool {
        let lease = |probe: Probe| self.readers.get(&probe.lane)?.leases.get(&probe.offset);
        let probe = self.breaker.probe();
        probe.is_some_and(|probe| lease(probe).is_some_and(|lease| lease.serial == probe.serial))
    }

    pub(crate) fn count_held(&mut self, consumer: ConsumerNumber) {
        *self.held.entry(consumer).or_default() += 1;
    }

    pub(crate) fn count_given_up(&mut self, consumer: ConsumerNumber) {
        if let Some(held) = self.held.get_mut(&consumer) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&consumer);
            }
        }
    }

    pub(crate) fn leased(&self) -> u64 {
        self.held.values().map(|held| u64::from(*held)).sum()
    }
}
