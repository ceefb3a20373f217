//! Taking transfers: each once, however often it is sent.

use punctual_types::{Lane, Now, Offset, Read, SubscriptionNumber, Time, TimelineId};

use super::Answer;
use crate::{
    Facts,
    format::{MessageRecord, StateKey},
    state::{PartitionId, Shard, Transfer, TransferItem, TransferSource},
};

impl Shard {
    fn last_taken(&self, source: TransferSource) -> u64 {
        self.arrived.get(&source).copied().unwrap_or(0)
    }

    pub(super) fn accept_reads(
        &self,
        source: TransferSource,
        transfers: &[Transfer],
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        let last = self.last_taken(source);
        for transfer in transfers.iter().filter(|transfer| transfer.number > last) {
            if let TransferItem::Publish { partition, item } = &transfer.item {
                self.publish_reads(*partition, std::slice::from_ref(item.as_ref()), facts, wanted);
            }
        }
    }

    /// The number is raised in the batch that has what the transfers wrote, so that a crash leaves
    /// both or neither.
    pub(super) fn accept(
        &mut self,
        source: TransferSource,
        up_to: u64,
        transfers: Vec<Transfer>,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let last = self.last_taken(source);
        let mut dropped = 0;
        for transfer in transfers.into_iter().filter(|transfer| transfer.number > last) {
            let taken = match transfer.item {
                TransferItem::Publish { partition, item } => {
                    !matches!(self.publish(partition, vec![*item], None, facts, now), Answer::Gone)
                }
                TransferItem::Record { timeline, due, record } => self.take_record(timeline, due, record, facts, now),
            };
            dropped += u64::from(!taken);
        }
        if up_to > last {
            self.arrived.insert(source, up_to);
            self.pen.touch(StateKey::Arrived(source));
        }
        Answer::Accepted { dropped }
    }

    /// `false` when what the record is for is no longer there.
    fn take_record(
        &mut self,
        timeline: TimelineId,
        due: Time,
        record: bytes::Bytes,
        facts: &mut Facts,
        now: Now,
    ) -> bool {
        let Ok(record) = MessageRecord::decode(record) else { return false };
        match timeline.lane {
            Lane::Priority(_) => self.put_letter(timeline.into(), &record, due, facts, now),
            Lane::Retry(number) => self.put_retry(timeline.into(), number, due, record, facts),
            Lane::Expiry | Lane::Check | Lane::Outgoing(_) => false,
        }
    }

    /// Puts a record onto a subscription's retry timeline; `false` when the subscription is gone.
    pub(super) fn put_retry(
        &mut self,
        partition: PartitionId,
        number: SubscriptionNumber,
        due: Time,
        record: MessageRecord,
        facts: &mut Facts,
    ) -> bool {
        let retry = partition.lane(Lane::Retry(number));
        let Some(subscription) = self.subscription_mut(partition, number) else { return false };
        subscription.reader(retry.lane, Offset(0));
        self.put_message(facts, retry, due, |_| record);
        self.pen.touch(StateKey::Reader(retry, number));
        true
    }
}
