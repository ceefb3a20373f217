//! Forgetting transfers that have arrived.

use punctual_types::{Mark, ShardNumber, TimelineId};

use super::Answer;
use crate::{Facts, state::Shard};

impl Shard {
    pub(super) fn arrived_up_to(&mut self, target: ShardNumber, up_to: Mark, facts: &mut Facts) -> Answer {
        let id = TimelineId::outgoing(target);
        // Told again after a restart, or by a forwarder that was overtaken, it changes nothing.
        if let Some(timeline) = self.timeline_mut(id).filter(|timeline| timeline.floor < up_to) {
            assert!(up_to <= timeline.line, "what has not left shard has arrived: {id:?} to {up_to:?}");
            timeline.floor = up_to;
            self.raise_floor(facts, id, up_to);
        }
        Answer::Done
    }
}
