//! Handing out what is behind the line: one message to one consumer at a time.

use punctual_types::{
    Attempt, ConsumerNumber, DelayMs, Lane, Now, Offset, Position, Read, Record, SubscriptionNumber, Time, TimelineId,
};

use super::Answer;
use crate::{
    Facts,
    format::{MessageRecord, StateKey},
    state::{Lease, LeaseEnd, LeaseRef, PartitionId, Probe, Shard, Turn},
};

/// Records that were given back, read one by one in a command at most.
const RETURNED_AT_ONCE: u32 = 64;
/// Records that a command looks at when it may pass some over.
const LOOKED_AT: u32 = 128;

/// Whom to lease to, how much and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseTo {
    pub(super) consumer: ConsumerNumber,
    pub(super) max: u32,
    pub(super) bytes_max: u64,
    pub(super) lease: Option<DelayMs>,
}

/// What was leased.
#[derive(Debug, Default)]
pub struct Leased {
    /// The deliveries, in order.
    pub deliveries: Vec<Delivered>,
    /// Records that could not be read: neither offered nor settled.
    pub damaged: Vec<(Offset, crate::format::FormatError)>,
    /// Whether the reader came further, so that asking again makes sense.
    pub progressed: bool,
    /// Messages that were passed over.
    pub passed_over: u32,
    /// Messages that were looked at.
    pub looked_at: u32,
}

/// A message that is now with a consumer.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// What the receipt names.
    pub lease: LeaseRef,
    /// Which try it is.
    pub attempt: Attempt,
    /// What is stored.
    pub record: MessageRecord,
    /// When it was due on this timeline: for a retry, when the retry was.
    pub due: Time,
    /// When it could first be offered; the due time where that is no longer known.
    pub offered_at: Time,
    /// When the lease ends.
    pub expires_at: Time,
}

impl Shard {
    /// What to read for fresh messages: on from where the reader stands. Where it stands by offset
    /// only (after a restart or a seek) the first is found by counting, and the rest after it.
    fn fresh_reads(
        &self,
        id: TimelineId,
        number: SubscriptionNumber,
        max: u32,
        bytes_max: u64,
        facts: &Facts,
    ) -> Vec<Read> {
        let reads = || {
            let timeline = self.timeline(id)?;
            let reader = self.reader(id, number)?;
            // What was given back comes first, all of it.
            let returned =
                u32::try_from(reader.returned.len()).ok().filter(|returned| *returned <= RETURNED_AT_ONCE)?;
            let limit = max.checked_sub(returned).filter(|limit| *limit > 0)?;
            let picks = self.subscription(id.into(), number)?.picks(id.lane);
            let limit = if picks { limit.max(LOOKED_AT) } else { limit };
            let cursor = reader.cursor.max(reader.acks.floor());
            let window = |after, limit| {
                let to = timeline.line.position;
                (limit > 0 && after < to).then_some(Read::Window {
                    timeline: id,
                    after,
                    to,
                    limit,
                    bytes_max,
                    values: true,
                })
            };
            if cursor >= timeline.line.offset {
                return None;
            }
            if let Some(after) = reader.cursor_position.filter(|_| cursor == reader.cursor) {
                return Some(window(after, limit).into_iter().collect());
            }
            if cursor == timeline.floor.offset {
                return Some(window(timeline.floor.position, limit).into_iter().collect());
            }
            let first = Read::AtOffset { timeline: id, offset: cursor, limit: 1 };
            let rest = facts.records(&first).first().and_then(|record| window(record.position, limit - 1));
            Some([first].into_iter().chain(rest).collect())
        };
        reads().unwrap_or_default()
    }

    /// How much of what was asked for the subscription may have now.
    fn most(&self, id: TimelineId, number: SubscriptionNumber, max: u32, now: Now) -> u32 {
        let allowance = self.subscription(id.into(), number).map_or(0, |it| it.allowance(now.floor));
        u32::try_from(allowance).unwrap_or(u32::MAX).min(max)
    }

    pub(super) fn lease_reads(
        &self,
        id: TimelineId,
        number: SubscriptionNumber,
        max: u32,
        bytes_max: u64,
        now: Now,
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        let max = self.most(id, number, max, now);
        let Some(reader) = self.reader(id, number) else { return };
        for position in reader.returned.values().take(max.min(RETURNED_AT_ONCE) as usize) {
            facts.want(wanted, Read::Record { timeline: id, position: *position });
        }
        for read in self.fresh_reads(id, number, max, bytes_max, facts) {
            facts.want(wanted, read);
        }
    }

    pub(super) fn lease(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        to: &LeaseTo,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let to = &LeaseTo { max: self.most(id, number, to.max, now), ..*to };
        let reads = self.fresh_reads(id, number, to.max, to.bytes_max, facts);
        let Some(line) = self.timeline(id).map(|timeline| timeline.line.offset) else { return Answer::Gone };
        let Some(reader) = self.reader(id, number) else { return Answer::Gone };
        let mut candidates: Vec<(Offset, Record)> = Vec::new();
        let mut missing = Vec::new();
        for (offset, position) in reader.returned.iter().take(to.max.min(RETURNED_AT_ONCE) as usize) {
            match facts.record(id, *position) {
                Some(value) => candidates.push((*offset, Record { position: *position, value: value.clone() })),
                None => missing.push((*offset, *position)),
            }
        }
        let fresh = reads.iter().flat_map(|read| facts.take_records(read));
        let first = reader.cursor.max(reader.acks.floor());
        candidates
            .extend(fresh.into_iter().enumerate().map(|(index, record)| (Offset(first.0 + index as u64), record)));
        let mut leased = Leased::default();
        let mut bytes = 0;
        for (offset, record) in candidates {
            assert!(offset < line, "offset {offset} of {id:?} was to be offered ahead of the line");
            let full = leased.deliveries.len() >= to.max as usize;
            let over = bytes + record.value.len() as u64 > to.bytes_max;
            if full || over && !leased.deliveries.is_empty() {
                break;
            }
            let (size, before) = (record.value.len() as u64, leased.deliveries.len());
            leased.looked_at += 1;
            if !self.lease_one(id, number, offset, record, to, &mut leased, facts, now) {
                break;
            }
            leased.progressed = true;
            bytes += if leased.deliveries.len() > before { size } else { 0 };
        }
        for (offset, position) in missing {
            // A ready record that its store does not have is damage, told and kept apart.
            let what = crate::format::FormatError::new("message", format!("no record at {position:?}"));
            leased.damaged.push((offset, what));
            if let Some(reader) = self.reader_mut(id, number) {
                reader.returned.remove(&offset);
                reader.damaged.insert(offset, position);
            }
        }
        let partition = PartitionId::from(id);
        if let Some(subscription) = self.subscription_mut(partition, number) {
            let count = leased.deliveries.len() as u64;
            let paced = subscription.rules.pace.filter(|_| count > 0);
            let resumes = paced.and_then(|pace| subscription.pacer.spent(count, pace, now.floor));
            subscription.totals.delivered += leased.deliveries.len() as u64;
            subscription.turn = subscription.turn.wrapping_add(1);
            subscription.totals.filtered += u64::from(leased.passed_over);
            self.pen.lazy.insert(StateKey::SubscriptionTotals(id.topic, id.partition, number));
            self.agenda.resumes.extend(resumes.map(|at| (at, partition, number)));
        }
        if leased.passed_over > 0 {
            self.pen.touch(StateKey::SubscriptionTotals(id.topic, id.partition, number));
            self.follow_floor(facts, id);
        }
        Answer::Leased(leased)
    }

    /// Leases a message, or passes it over, or lets it wait; `false` when the reader must stop before
    /// it.
    #[expect(clippy::too_many_arguments, reason = "one step of `lease`, taken apart for its length")]
    fn lease_one(
        &mut self,
        id: TimelineId,
        number: SubscriptionNumber,
        offset: Offset,
        stored: Record,
        to: &LeaseTo,
        leased: &mut Leased,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        let (epoch, hash) = (self.meta.epoch, self.config.hash);
        let Some(partition) = self.partitions.get_mut(&id.into()) else { return false };
        let retention = partition.rules.as_ref().and_then(|rules| rules.retention);
        let Some(timeline) = partition.timelines.get(&id.lane) else { return false };
        let Some(subscription) = partition.subscriptions.get_mut(&number) else { return false };
        let lease_ms = to.lease.unwrap_or(subscription.rules.lease);
        let Some(reader) = subscription.readers.get_mut(&id.lane) else { return false };
        let before = (reader.cursor, reader.cursor_position);
        if offset >= reader.cursor {
            reader.cursor = offset.next();
            reader.cursor_position = Some(stored.position);
        }
        if reader.acks.is_settled(offset) {
            return true;
        }
        let position: Position = stored.position;
        let mut record = match MessageRecord::decode(stored.value) {
            Ok(record) => record,
            Err(error) => {
                reader.returned.remove(&offset);
                reader.damaged.insert(offset, position);
                leased.damaged.push((offset, error));
                return true;
            }
        };
        if !subscription.rules.wants(id.lane, &record) {
            self.settle(id, number, offset, None);
            leased.passed_over += 1;
            return true;
        }
        let lapses_at = record.expires_at();
        let kept_until = retention.and_then(|retention| kept_from(&record, position, id).checked_add(retention));
        if [lapses_at, kept_until].into_iter().flatten().any(|at| at <= now.floor) {
            reader.returned.remove(&offset);
            self.pass_lapsed(id, number, offset, record, facts, now);
            return true;
        }
        if let Some(key) = record.ordering_key.as_ref().filter(|_| subscription.rules.ordered) {
            match reader.order.enter(hash.of(key.as_bytes()), offset, position) {
                Turn::Goes => {}
                Turn::Waits => return true,
                Turn::Full => {
                    (reader.cursor, reader.cursor_position) = before;
                    return false;
                }
            }
        }
        if let Some(parked) = reader.parked.get_mut(&offset) {
            parked.position = Some(position);
            return true;
        }
        let failure = reader.failures.get(&offset).cloned().unwrap_or_default();
        record.last_error = failure.last_error.or(record.last_error);
        let attempt = Attempt(record.attempts.saturating_add(failure.count).saturating_add(1));
        let failed_before = (failure.count > 0).then_some(failure.first_delivered_at);
        let first_delivered_at = record.first_delivered_at.or(failed_before).unwrap_or(now.floor);
        self.last_lease += 1;
        let serial = self.last_lease;
        let expires_at = now.ceil.saturating_add(lease_ms);
        let lease =
            Lease { serial, consumer: to.consumer, attempt, position, expires_at, first_delivered_at, lapses_at };
        reader.lease(offset, lease);
        subscription.breaker.sent(Probe { lane: id.lane, offset, serial }, now.floor);
        subscription.count_held(to.consumer);
        self.pen.changed.insert(id.into());
        self.agenda.lease_ends.insert(LeaseEnd { at: expires_at, timeline: id, subscription: number, offset });
        leased.deliveries.push(Delivered {
            lease: LeaseRef { timeline: id, subscription: number, offset, epoch, serial },
            attempt,
            record,
            due: position.due,
            offered_at: timeline.crossings.crossed_at(offset).unwrap_or(position.due),
            expires_at,
        });
        true
    }
}

/// From when on a topic's retention counts: a retry is as old as its message.
fn kept_from(record: &MessageRecord, position: Position, id: TimelineId) -> Time {
    match id.lane {
        Lane::Retry(_) => record.deliver_at,
        Lane::Priority(_) | Lane::Expiry | Lane::Check => position.due,
    }
}
