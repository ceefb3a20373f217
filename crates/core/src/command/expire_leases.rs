//! Taking back what leases have ended for.

use std::collections::BTreeSet;

use punctual_types::{Now, Read};

use super::{Answer, LeasePlace};
use crate::{Facts, state::Shard};

impl Shard {
    fn ended(&self, limit: u32, now: Now) -> Vec<LeasePlace> {
        let ended = self.agenda.lease_ends.iter().take_while(|end| end.at <= now.floor);
        ended.take(limit as usize).map(|end| (end.timeline, end.subscription, end.offset)).collect()
    }

    pub(super) fn expire_leases_reads(&self, limit: u32, now: Now, facts: &Facts, wanted: &mut Vec<Read>) {
        for place in self.ended(limit, now).into_iter().filter(|place| self.is_last_attempt(*place)) {
            if let Some(read) = self.record_read(place) {
                facts.want(wanted, read);
            }
        }
    }

    pub(super) fn expire_leases(&mut self, limit: u32, facts: &mut Facts, now: Now) -> Answer {
        let mut returned = BTreeSet::new();
        for place in self.ended(limit, now) {
            self.fail_in_place(place, facts, now);
            returned.insert((place.0.into(), place.1));
        }
        Answer::Returned(returned.into_iter().collect())
    }
}
