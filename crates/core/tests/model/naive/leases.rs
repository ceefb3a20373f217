//! Leasing, settling, and what failed deliveries lead to.

use std::collections::BTreeSet;

use punctual_core::{ExtendAnswer, LeaseRef, NackAnswer, SettleAnswer};
use punctual_types::{DelayMs, Lane, Offset, SubscriptionNumber};

use super::{
    Copy, DEAD, Held, IN_FLIGHT_MAX, Kind, LEASE_MS, Naive, RETRY_INITIAL_MS, RETRY_MAX_MS, Reading, Told, attempts_max,
};

impl Naive {
    pub(super) fn lease(&mut self, pick: usize, retries: bool, max: u32, consumer: u64) -> Told {
        let number = self.pick_reader(pick);
        let lane = if retries { Lane::Retry(number) } else { self.fresh_lane(number) };
        let id = Self::home(number).lane(lane);
        let expires_at = self.now.ceil.unix_ms() + LEASE_MS;
        let reader = &self.readers[&number];
        let max = max.min(IN_FLIGHT_MAX.saturating_sub(reader.held()));
        let ready = match (self.lines.get(&id), reader.lanes.get(&lane)) {
            (Some(line), Some(reading)) => reading.ready(line),
            _ => Vec::new(),
        };
        let (mut leased, mut passed_over) = (Vec::new(), false);
        for offset in ready {
            if leased.len() == max as usize {
                break;
            }
            let wanted = self.wants(number, id, offset);
            if wanted && self.waits(number, id, offset) {
                continue;
            }
            let copy = self.lines[&id].crossed[offset].1;
            let reader = self.readers.get_mut(&number).expect("picked");
            let reading = reader.lanes.get_mut(&lane).expect("it has something");
            if !wanted {
                reading.settle(offset);
                reader.filtered += 1;
                passed_over = true;
                continue;
            }
            let attempt = copy.attempts + reading.failures.get(&offset).copied().unwrap_or(0) + 1;
            self.serial += 1;
            reading.held.insert(offset, Held { serial: self.serial, attempt, consumer, expires_at });
            reader.delivered += 1;
            leased.push((Offset(offset as u64), self.messages[copy.message].id, attempt));
            self.receipts.push(LeaseRef {
                timeline: id,
                subscription: number,
                offset: Offset(offset as u64),
                epoch: self.epoch,
                serial: self.serial,
            });
        }
        if passed_over {
            self.follow_floor(id);
        }
        Told::Leased(leased)
    }

    pub(super) fn reading(&mut self, lease: &LeaseRef) -> Option<&mut Reading> {
        if lease.epoch != self.epoch {
            return None;
        }
        self.readers.get_mut(&lease.subscription)?.lanes.get_mut(&lease.timeline.lane)
    }

    /// Ends the lease of a receipt, if it runs.
    pub(super) fn end(&mut self, lease: &LeaseRef) -> Option<Held> {
        let offset = lease.offset.0 as usize;
        let reading = self.reading(lease)?;
        let held = reading.held.get(&offset).copied().filter(|held| held.serial == lease.serial)?;
        reading.held.remove(&offset);
        Some(held)
    }

    pub(super) fn settle(&mut self, lease: &LeaseRef, acked: bool) {
        let offset = lease.offset.0 as usize;
        let reading = self.reading(lease).expect("its lease ran");
        reading.settle(offset);
        if acked {
            reading.acked_by.insert(offset, lease.serial);
        }
    }

    pub(super) fn ack(&mut self, picks: &[usize]) -> Vec<SettleAnswer> {
        let leases = self.pick_receipts(picks);
        let mut touched = BTreeSet::new();
        let mut answers = Vec::new();
        for lease in &leases {
            let offset = lease.offset.0 as usize;
            answers.push(if self.end(lease).is_some() {
                self.settle(lease, true);
                self.readers.get_mut(&lease.subscription).expect("its lease ran").acked += 1;
                touched.insert(lease.timeline);
                SettleAnswer::Done
            } else if self.reading(lease).is_some_and(|it| it.acked_by.get(&offset) == Some(&lease.serial)) {
                SettleAnswer::Done
            } else {
                SettleAnswer::LeaseLost
            });
        }
        for line in touched {
            self.follow_floor(line);
        }
        answers
    }

    pub(super) fn nack(&mut self, picks: &[usize], delay: Option<u64>) -> Vec<NackAnswer> {
        let leases = self.pick_receipts(picks);
        let mut answers = Vec::new();
        for lease in &leases {
            let Some(held) = self.end(lease) else {
                answers.push(NackAnswer::LeaseLost);
                continue;
            };
            self.readers.get_mut(&lease.subscription).expect("its lease ran").failed += 1;
            if held.attempt >= attempts_max(lease.subscription) {
                self.give_up(lease);
                answers.push(NackAnswer::DeadLettered);
                continue;
            }
            let policy = (RETRY_INITIAL_MS << (held.attempt - 1).min(10)).min(RETRY_MAX_MS);
            let due = match delay.unwrap_or(policy) {
                0 => self.now.floor.unix_ms(),
                delay => self.now.ceil.unix_ms() + delay,
            };
            if self.readers[&lease.subscription].kind == Kind::Ordered {
                self.park(lease, due);
                answers.push(NackAnswer::Retry);
                continue;
            }
            let copy = Copy { attempts: held.attempt, ..self.copy_at(lease) };
            let retry = Lane::Retry(lease.subscription);
            self.insert(lease.timeline.lane(retry), due, copy);
            let reader = self.readers.get_mut(&lease.subscription).expect("its lease ran");
            reader.lanes.entry(retry).or_default();
            reader.retried += 1;
            self.settle(lease, false);
            answers.push(NackAnswer::Retry);
        }
        let lines: BTreeSet<_> = leases.iter().map(|lease| lease.timeline).collect();
        for line in lines {
            self.follow_floor(line);
        }
        answers
    }

    /// Keeps it back at its own place.
    fn park(&mut self, lease: &LeaseRef, not_before: u64) {
        self.readers.get_mut(&lease.subscription).expect("its lease ran").retried += 1;
        let now = self.now.floor.unix_ms();
        let offset = lease.offset.0 as usize;
        let reading = self.reading(lease).expect("its lease ran");
        *reading.failures.entry(offset).or_default() += 1;
        reading.not_before.insert(offset, not_before);
        if not_before > now {
            reading.parked.insert(offset, not_before);
        }
    }

    /// What is held back, in the order of when it may go.
    pub(crate) fn all_parked(&self) -> Vec<(u64, Lane, SubscriptionNumber, usize)> {
        let mut all = Vec::new();
        for (number, reader) in &self.readers {
            for (lane, reading) in &reader.lanes {
                all.extend(reading.parked.iter().map(|(offset, until)| (*until, *lane, *number, *offset)));
            }
        }
        all.sort();
        all
    }

    pub(super) fn copy_at(&self, lease: &LeaseRef) -> Copy {
        self.lines[&lease.timeline].crossed[lease.offset.0 as usize].1
    }

    /// To the dead letters.
    pub(super) fn give_up(&mut self, lease: &LeaseRef) {
        let copy = Copy { attempts: 0, dead: true, ..self.copy_at(lease) };
        self.insert(DEAD, self.now.floor.unix_ms(), copy);
        *self.published.entry(DEAD.topic).or_default() += 1;
        self.readers.get_mut(&lease.subscription).expect("its lease ran").dead += 1;
        self.settle(lease, false);
        self.follow_floor(lease.timeline);
    }

    pub(super) fn release(&mut self, picks: &[usize]) -> Vec<SettleAnswer> {
        let leases = self.pick_receipts(picks);
        let release = |lease: &LeaseRef| match self.end(lease) {
            Some(_) => SettleAnswer::Done,
            None => SettleAnswer::LeaseLost,
        };
        leases.iter().map(release).collect()
    }

    pub(super) fn extend(&mut self, picks: &[usize], ms: u64) -> Vec<ExtendAnswer> {
        let expires_at = self.now.ceil.saturating_add(DelayMs::from_ms(ms));
        let leases = self.pick_receipts(picks);
        let extend = |lease: &LeaseRef| {
            let offset = lease.offset.0 as usize;
            let held = self.reading(lease).and_then(|reading| reading.held.get_mut(&offset));
            match held.filter(|held| held.serial == lease.serial) {
                Some(held) => {
                    held.expires_at = expires_at.unix_ms();
                    ExtendAnswer::Extended { expires_at }
                }
                None => ExtendAnswer::LeaseLost,
            }
        };
        leases.iter().map(extend).collect()
    }

    pub(super) fn all_held(&self) -> Vec<(u64, LeaseRef, u64)> {
        let mut all = Vec::new();
        for (number, reader) in &self.readers {
            for (lane, reading) in &reader.lanes {
                for (offset, held) in &reading.held {
                    let timeline = Self::home(*number).lane(*lane);
                    let (offset, serial) = (Offset(*offset as u64), held.serial);
                    let lease = LeaseRef { timeline, subscription: *number, offset, epoch: self.epoch, serial };
                    all.push((held.expires_at, lease, held.consumer));
                }
            }
        }
        all
    }

    /// When the next lease ends.
    pub(crate) fn next_end(&self) -> Option<u64> {
        self.all_held().iter().map(|(at, ..)| *at).min()
    }

    pub(super) fn fail(&mut self, lease: &LeaseRef) {
        let held = self.end(lease).expect("it runs");
        self.readers.get_mut(&lease.subscription).expect("its lease ran").failed += 1;
        if held.attempt >= attempts_max(lease.subscription) {
            self.give_up(lease);
        } else {
            let offset = lease.offset.0 as usize;
            let reading = self.reading(lease).expect("its lease ran");
            *reading.failures.entry(offset).or_default() += 1;
            reading.not_before.remove(&offset);
        }
    }

    pub(super) fn expire(&mut self, limit: u32) -> Told {
        let mut ended = self.all_held();
        ended.retain(|(at, ..)| *at <= self.now.floor.unix_ms());
        ended.sort_by_key(|(at, lease, _)| (*at, lease.timeline, lease.subscription, lease.offset));
        let mut returned = BTreeSet::new();
        for (_, lease, _) in ended.iter().take(limit as usize) {
            self.fail(lease);
            returned.insert(lease.subscription);
        }
        let now = self.now.floor.unix_ms();
        let parked = self.all_parked().into_iter().filter(|(until, ..)| *until <= now);
        for (_, lane, number, offset) in parked.take(limit as usize).collect::<Vec<_>>() {
            let reader = self.readers.get_mut(&number).expect("it parked it");
            reader.lanes.get_mut(&lane).expect("it parked it").parked.remove(&offset);
            returned.insert(number);
        }
        Told::Returned(returned)
    }

    pub(super) fn disconnect(&mut self, pick: usize, consumer: u64, graceful: bool) -> Told {
        let number = self.pick_reader(pick);
        let mut returned = BTreeSet::new();
        for (_, lease, held_by) in self.all_held() {
            if lease.subscription == number && held_by == consumer {
                returned.insert(number);
                if graceful {
                    self.end(&lease);
                } else {
                    self.fail(&lease);
                }
            }
        }
        Told::Returned(returned)
    }
}
