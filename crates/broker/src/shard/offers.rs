//! Who waits for deliveries, and giving them out: round robin, within everybody's bounds.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::atomic::Ordering,
};

use punctual_core::{Answer, Command, PartitionId};
use punctual_store_api::StoreError;
use punctual_types::{ConsumerNumber, Read, ShardNumber, SubscriptionNumber};

use super::{
    SubscriptionAt, Waiter,
    limits::{FEED_BYTES_MAX, OFFER_TURN_MAX, READ_AHEAD, READ_AHEAD_BYTES},
    request::Batch,
    worker::Worker,
};

/// The waiters of a worker's subscriptions.
#[derive(Debug, Default)]
pub(super) struct Offers {
    waiters: HashMap<SubscriptionAt, VecDeque<Waiter>>,
    /// Subscriptions that have waiters, by partition.
    waited: HashMap<PartitionId, BTreeSet<SubscriptionAt>>,
    /// Subscriptions that may have something for their waiters.
    hungry: BTreeSet<SubscriptionAt>,
}

impl Offers {
    pub(super) fn wait(&mut self, at: SubscriptionAt, waiter: Waiter) {
        self.waiters.entry(at).or_default().push_back(waiter);
        self.waited.entry(at.partition).or_default().insert(at);
        self.hungry.insert(at);
    }

    pub(super) fn forget(&mut self, at: SubscriptionAt, consumer: ConsumerNumber) {
        let Some(waiters) = self.waiters.get_mut(&at) else { return };
        waiters.retain(|waiter| waiter.consumer != consumer);
        if waiters.is_empty() {
            self.waiters.remove(&at);
            self.hungry.remove(&at);
            if let Some(waited) = self.waited.get_mut(&at.partition) {
                waited.remove(&at);
                if waited.is_empty() {
                    self.waited.remove(&at.partition);
                }
            }
        }
    }

    /// Ends the waiters of subscriptions that are deleted: of one, or of a whole partition.
    pub(super) fn end(&mut self, partition: PartitionId, subscription: Option<SubscriptionNumber>) {
        let waited: Vec<_> = self.waited.get(&partition).into_iter().flatten().copied().collect();
        for at in waited.into_iter().filter(|at| subscription.is_none_or(|number| number == at.subscription)) {
            for waiter in self.waiters.get(&at).cloned().unwrap_or_default() {
                waiter.gone.send_replace(true);
                self.forget(at, waiter.consumer);
            }
        }
    }

    pub(super) fn has_waiters(&self, partition: PartitionId) -> bool {
        self.waited.contains_key(&partition)
    }

    pub(super) fn mark_hungry(&mut self, at: SubscriptionAt) {
        if self.waiters.contains_key(&at) {
            self.hungry.insert(at);
        }
    }

    pub(super) fn mark_partition_hungry(&mut self, shard: ShardNumber, partition: PartitionId) {
        let waited = self.waited.get(&partition).into_iter().flatten();
        self.hungry.extend(waited.filter(|at| at.shard == shard));
    }

    /// The next waiter that may be given something, whose turn comes again after all others.
    fn next(&mut self, at: SubscriptionAt, has_room: impl Fn(&Waiter) -> bool) -> Option<Waiter> {
        let waiters = self.waiters.get_mut(&at)?;
        for _ in 0..waiters.len() {
            let waiter = waiters.pop_front()?;
            let ready = !waiter.credit.is_empty() && takes_more(&waiter) && has_room(&waiter);
            waiters.push_back(waiter);
            if ready {
                return waiters.back().cloned();
            }
        }
        None
    }
}

/// Whether a waiter's feed has room. One that has none is marked, and looked at once more after the
/// mark is there: the feed takes a batch out first and looks for the mark then, so that one of the
/// two sees the other and the waiter is not passed over for good.
fn takes_more(waiter: &Waiter) -> bool {
    let has_room = || waiter.sink.capacity() > 0 && waiter.queued.load(Ordering::SeqCst) < FEED_BYTES_MAX;
    has_room() || {
        waiter.passed_over.store(true, Ordering::SeqCst);
        has_room()
    }
}

/// A wider window to read in place of one for a consumer, so that the next is answered from memory.
pub(super) fn widen(read: &Read) -> Option<Read> {
    match *read {
        Read::Window { timeline, after, to, limit, bytes_max, values: true } if limit <= READ_AHEAD => {
            Some(Read::Window {
                timeline,
                after,
                to,
                limit: READ_AHEAD,
                bytes_max: bytes_max.max(READ_AHEAD_BYTES),
                values: true,
            })
        }
        Read::Window { .. }
        | Read::Record { .. }
        | Read::AtOffset { .. }
        | Read::OffsetOf { .. }
        | Read::Lookup(_)
        | Read::Count { .. } => None,
    }
}

impl Worker {
    /// Offers to everyone who waits what is ready for them.
    pub(super) async fn make_offers(&mut self) -> Result<(), StoreError> {
        for at in std::mem::take(&mut self.offers.hungry) {
            self.offer(at).await?;
        }
        Ok(())
    }

    async fn offer(&mut self, at: SubscriptionAt) -> Result<(), StoreError> {
        let Some(seat) = self.seat_of(at.shard) else { return Ok(()) };
        let mut offered = 0;
        while offered < OFFER_TURN_MAX {
            let now = self.clock.now();
            let Some(shard) = self.seats.get(seat).map(|place| &place.shard) else { return Ok(()) };
            let Some((lane, room)) = shard.offers(at.partition, at.subscription, now.floor) else { return Ok(()) };
            let own_room = |waiter: &Waiter| {
                let held = || shard.held_by(at.partition, at.subscription, waiter.consumer);
                waiter.in_flight_max.map_or(u32::MAX, |most| most.saturating_sub(held()))
            };
            let Some(waiter) = self.offers.next(at, |waiter| own_room(waiter) > 0) else { return Ok(()) };
            let own_room = own_room(&waiter);
            let Ok(place) = waiter.sink.clone().try_reserve_owned() else {
                // Its feed was dropped; the request that says so is on its way.
                self.offers.forget(at, waiter.consumer);
                continue;
            };
            let taken = waiter.credit.take(room.min(waiter.batch_max).min(own_room));
            if taken.usable == 0 {
                continue;
            }
            let command = Command::Lease {
                partition: at.partition,
                subscription: at.subscription,
                lane,
                consumer: waiter.consumer,
                max: taken.usable,
                bytes_max: waiter.bytes_max,
                lease: waiter.lease,
            };
            let Answer::Leased(leased) = self.ask_own(seat, command, now).await? else { return Ok(()) };
            let count = u32::try_from(leased.deliveries.len()).unwrap_or(u32::MAX);
            waiter.credit.settle(taken, count);
            for (offset, error) in &leased.damaged {
                tracing::error!(%error, %offset, topic = %at.partition.topic, "a stored message cannot be read; it is set aside and not offered");
                self.metrics.damaged();
            }
            if count > 0 {
                self.metrics.delivered(count);
                let batch = Batch { deliveries: leased.deliveries, delivered_at: now.floor };
                waiter.queued.fetch_add(batch.bytes(), Ordering::AcqRel);
                place.send(batch);
            }
            if leased.passed_over > 0 {
                // What a filter passed over is settled, and a floor may have risen with it.
                self.commit(seat).await?;
            }
            self.pass(seat, at.partition.lane(lane));
            if !leased.progressed {
                return Ok(());
            }
            offered += leased.looked_at.max(1);
        }
        self.offers.hungry.insert(at);
        self.unfinished = true;
        Ok(())
    }

    /// Forgets what every reader of a timeline has passed.
    fn pass(&mut self, seat: usize, timeline: punctual_types::TimelineId) {
        if let Some(passed) = self.seats.get(seat).and_then(|place| place.shard.passed(timeline)) {
            self.ready.pass(timeline, passed);
        }
    }
}
