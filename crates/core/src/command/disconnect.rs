//! A consumer is gone: what it held is ready again.

use punctual_types::{ConsumerNumber, Now, Read, SubscriptionNumber};

use super::{Answer, LeasePlace};
use crate::{
    Facts,
    state::{PartitionId, Shard},
};

impl Shard {
    fn held(&self, id: PartitionId, number: SubscriptionNumber, consumer: ConsumerNumber) -> Vec<LeasePlace> {
        let readers = self.subscription(id, number).into_iter().flat_map(|subscription| &subscription.readers);
        let held =
            readers.flat_map(|(lane, reader)| reader.leases.iter().map(move |(offset, lease)| (*lane, *offset, lease)));
        held.filter(|(_, _, lease)| lease.consumer == consumer)
            .map(|(lane, offset, _)| (id.lane(lane), number, offset))
            .collect()
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of the command, and what every read is given")]
    pub(super) fn disconnect_reads(
        &self,
        id: PartitionId,
        number: SubscriptionNumber,
        consumer: ConsumerNumber,
        failed: bool,
        now: Now,
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        for place in self.held(id, number, consumer) {
            self.ending_reads(place, failed, now, facts, wanted);
        }
    }

    pub(super) fn disconnect(
        &mut self,
        id: PartitionId,
        number: SubscriptionNumber,
        consumer: ConsumerNumber,
        graceful: bool,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let held = self.held(id, number, consumer);
        for place in &held {
            if graceful {
                self.give_back(*place, facts, now);
            } else {
                self.fail_in_place(*place, facts, now);
            }
        }
        Answer::Returned(if held.is_empty() { Vec::new() } else { vec![(id, number)] })
    }
}
