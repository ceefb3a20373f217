//! Handing out what is behind the line: one message to one consumer at a time.

use punctual_types::{
    Attempt, ConsumerNumber, DelayMs, Now, Offset, Read, Record, SubscriptionNumber, Time, TimelineId,
};

use super::{Answer, pick::Pick};
use crate::{
    Facts,
    format::{MessageRecord, StateKey},
    state::{LeaseRef, PartitionId, Shard},
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
        (max, bytes_max): (u32, u64),
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
            let position = record.position;
            match self.pick(id, number, offset, record, &mut leased, facts, now) {
                Pick::Goes(record) => self.hand_out(id, number, (offset, position), *record, to, &mut leased, now),
                Pick::Stays => {}
                Pick::Stops => break,
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
}
