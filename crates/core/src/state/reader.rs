//! One subscription on one timeline: what it has settled, what is leased, what comes next.

use std::collections::BTreeMap;

use punctual_types::{Attempt, ConsumerNumber, Offset, Position, SubscriptionNumber, Time, TimelineId};

use super::{ack_set::AckSet, order::Order};
use crate::format::{StateKey, failure::Failure};

/// Offsets whose settling lease is remembered at most.
const CONTESTED_MAX: usize = 100_000;

/// A message that is with a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Which lease of this shard's ownership it is.
    pub(crate) serial: u64,
    pub(crate) consumer: ConsumerNumber,
    pub(crate) attempt: Attempt,
    pub(crate) position: Position,
    pub(crate) expires_at: Time,
    pub(crate) first_delivered_at: Time,
    /// When the message expires, if it does: it may be acked then, and is not offered again.
    pub(crate) lapses_at: Option<Time>,
}

/// A message that is to be tried again at its own place, and not before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    pub(crate) not_before: Time,
    /// Where it lies, once that was read.
    pub(crate) position: Option<Position>,
}

/// What a receipt stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// The lease it names runs.
    Live,
    /// The lease it names ended with an ack.
    Acked,
    /// The lease it names ended otherwise.
    Lost,
}

/// A subscription's reading of a timeline.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) acks: AckSet,
    /// When it began to read where it does: what had expired by then is passed over without a word.
    pub(crate) began_at: Time,
    /// The first offset that was never leased by this ownership.
    pub(crate) cursor: Offset,
    /// The position before `cursor`, once it is known.
    pub(crate) cursor_position: Option<Position>,
    /// Below the cursor, and ready again.
    pub(crate) returned: BTreeMap<Offset, Position>,
    pub(crate) leases: BTreeMap<Offset, Lease>,
    /// Failed deliveries of what is back at its place.
    pub(crate) failures: BTreeMap<Offset, Failure>,
    /// Failed, and not to be offered before their time. Only on ordered subscriptions.
    pub(crate) parked: BTreeMap<Offset, Parked>,
    /// Who waits for whom. Only on ordered subscriptions.
    pub(crate) order: Order,
    /// Records that cannot be read: neither offered nor settled, so that nothing is lost by them.
    pub(crate) damaged: BTreeMap<Offset, Position>,
    /// Settled offsets that were leased more than once or not settled by an ack, with the lease
    /// whose ack it was. An offset that is settled and not in here was acked by its only lease.
    contested: BTreeMap<Offset, Option<u64>>,
    /// Below it nothing is known of who settled what.
    contested_floor: Offset,
    /// Everything below it may have been leased by this ownership before: higher than the cursor
    /// after a seek back.
    leased_to: Offset,
}

impl Reader {
    /// A reader that begins at an offset.
    pub(crate) fn new(floor: Offset) -> Self {
        Self {
            acks: AckSet::new(floor),
            began_at: Time::ZERO,
            cursor: floor,
            cursor_position: None,
            returned: BTreeMap::new(),
            leases: BTreeMap::new(),
            failures: BTreeMap::new(),
            parked: BTreeMap::new(),
            order: Order::default(),
            damaged: BTreeMap::new(),
            contested: BTreeMap::new(),
            contested_floor: floor,
            leased_to: floor,
        }
    }

    /// Deliveries that wait, when the line's next offset is `line`.
    pub(crate) fn ready(&self, line: Offset) -> u64 {
        let unsettled = line.0.saturating_sub(self.acks.floor().0).saturating_sub(self.acks.above());
        let held_back = self.parked.len() as u64 + self.order.waiting();
        unsettled.saturating_sub(self.leases.len() as u64 + self.damaged.len() as u64 + held_back)
    }

    /// Whether a lease would come further, when the line's next offset is `line`.
    pub(crate) fn offers(&self, line: Offset) -> bool {
        self.ready(line) > 0 && (!self.order.is_stopped() || !self.returned.is_empty())
    }

    /// What became of the lease that a receipt names.
    pub(crate) fn receipt(&self, offset: Offset, serial: u64) -> Receipt {
        if self.leases.get(&offset).is_some_and(|lease| lease.serial == serial) {
            Receipt::Live
        } else if offset < self.contested_floor || !self.acks.is_settled(offset) || offset >= self.cursor {
            Receipt::Lost
        } else {
            match self.contested.get(&offset) {
                None => Receipt::Acked,
                Some(Some(acked_by)) if *acked_by == serial => Receipt::Acked,
                Some(_) => Receipt::Lost,
            }
        }
    }

    /// Notes that an offset had a lease that did not end with an ack.
    pub(crate) fn contest(&mut self, offset: Offset) {
        self.contested.insert(offset, None);
        if self.contested.len() > CONTESTED_MAX
            && let Some((forgotten, _)) = self.contested.pop_first()
        {
            self.contested_floor = self.contested_floor.max(forgotten.next());
        }
    }

    /// The pieces of state that it has beside its floor.
    pub(crate) fn pieces(
        &self,
        timeline: TimelineId,
        number: SubscriptionNumber,
    ) -> impl Iterator<Item = StateKey> + '_ {
        let chunks = self.acks.chunk_numbers().map(move |chunk| StateKey::AckChunk(timeline, number, chunk));
        chunks.chain(self.failures.keys().map(move |offset| StateKey::Failure(timeline, number, *offset)))
    }

    /// Hands an offset out.
    pub(crate) fn lease(&mut self, offset: Offset, lease: Lease) {
        let returned = self.returned.remove(&offset).is_some();
        if returned || offset < self.leased_to {
            self.contest(offset);
        }
        self.leased_to = self.leased_to.max(offset.next());
        self.leases.insert(offset, lease);
    }

    /// Begins again at an offset: everything below counts as settled, nothing else does.
    pub(crate) fn seek(&mut self, floor: Offset) {
        let leased_to = self.leased_to.max(self.cursor);
        *self = Self { contested_floor: floor, leased_to, began_at: self.began_at, ..Self::new(floor) };
    }

    /// Settles an offset by the ack of a lease.
    pub(crate) fn settle_acked(&mut self, offset: Offset, serial: u64) {
        if let Some(by) = self.contested.get_mut(&offset) {
            *by = Some(serial);
        }
        self.acks.settle(offset);
    }

    /// Settles an offset without an ack: it moved elsewhere, or was passed over, or it expired.
    pub(crate) fn settle_moved(&mut self, offset: Offset) {
        // Nobody has a receipt of what was never leased.
        if self.returned.remove(&offset).is_some() || offset < self.leased_to {
            self.contest(offset);
        }
        self.acks.settle(offset);
    }
}

impl Reader {
    /// This reader as a new ownership of the shard begins with it.
    pub(crate) fn reopened(mut self, now: Time) -> Self {
        self.cursor = self.acks.floor();
        self.cursor_position = None;
        let parked = |(offset, failure): (&Offset, &Failure)| {
            let not_before = failure.not_before.filter(|not_before| *not_before > now)?;
            Some((*offset, Parked { not_before, position: None }))
        };
        self.parked = self.failures.iter().filter_map(parked).collect();
        self
    }
}
