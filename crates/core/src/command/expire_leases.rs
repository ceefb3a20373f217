//! Taking back what leases have ended for, and letting go what was held up until now.

use std::collections::BTreeSet;

use punctual_types::{Now, Read, SubscriptionNumber, Time};

use super::{Answer, LeasePlace};
use crate::{
    Facts,
    state::{LeaseEnd, PartitionId, Shard},
};

impl Shard {
    fn ended(&self, limit: u32, now: Now) -> Vec<LeasePlace> {
        let ended = self.agenda.lease_ends.iter().take_while(|end| end.at <= now.floor);
        ended.take(limit as usize).map(|end| (end.timeline, end.subscription, end.offset)).collect()
    }

    fn unparked(&self, limit: u32, now: Now) -> Vec<LeaseEnd> {
        let ended = self.agenda.parked.iter().take_while(|end| end.at <= now.floor);
        ended.take(limit as usize).copied().collect()
    }

    fn resumed(&self, limit: u32, now: Now) -> Vec<(Time, PartitionId, SubscriptionNumber)> {
        let resumed = self.agenda.resumes.iter().take_while(|(at, ..)| *at <= now.floor);
        resumed.take(limit as usize).copied().collect()
    }

    pub(super) fn expire_leases_reads(&self, limit: u32, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        for place in self.ended(limit, now) {
            self.ending_reads(place, true, now, facts, wanted);
        }
    }

    pub(super) fn expire_leases(&mut self, limit: u32, facts: &mut Facts, now: Now) -> Answer {
        let mut returned = BTreeSet::new();
        for place in self.ended(limit, now) {
            self.fail_in_place(place, facts, now);
            returned.insert((place.0.into(), place.1));
        }
        for end in self.unparked(limit, now) {
            self.agenda.parked.remove(&end);
            let Some(reader) = self.reader_mut(end.timeline, end.subscription) else { continue };
            // What was parked before the shard was opened again is met where the reader comes to it.
            if let Some(position) = reader.parked.remove(&end.offset).and_then(|parked| parked.position) {
                reader.returned.insert(end.offset, position);
            }
            self.pen.changed.insert(end.timeline.into());
            returned.insert((end.timeline.into(), end.subscription));
        }
        for resumes in self.resumed(limit, now) {
            self.agenda.resumes.remove(&resumes);
            let (_, partition, number) = resumes;
            self.pen.changed.insert(partition);
            returned.insert((partition, number));
        }
        Answer::Returned(returned.into_iter().collect())
    }
}
