//! A subscription on a partition.

use std::collections::BTreeMap;

use punctual_types::{Lane, Offset};

use super::{reader::Reader, rules::SubscriptionRules};
use crate::format::subscription_totals::SubscriptionTotals;

/// A subscription on a partition, with a reader per timeline that it reads.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    pub(crate) rules: SubscriptionRules,
    pub(crate) readers: BTreeMap<Lane, Reader>,
    pub(crate) totals: SubscriptionTotals,
    /// Whose turn it is: retries and fresh messages take turns, so that neither starves the other.
    pub(crate) turn: u32,
}

impl Subscription {
    /// The reader of a lane, made at an offset when there is none.
    pub(crate) fn reader(&mut self, lane: Lane, floor: Offset) -> &mut Reader {
        self.readers.entry(lane).or_insert_with(|| Reader::new(floor))
    }

    pub(crate) fn leased(&self) -> u64 {
        self.readers.values().map(|reader| reader.leases.len() as u64).sum()
    }
}
