//! When messages crossed the line, for lateness.

use std::collections::VecDeque;

use punctual_types::{Offset, Time};

/// Crossings remembered at most; what is older is told as if it had not been late.
const CROSSINGS_MAX: usize = 4096;

/// The recent past of a now-line. In memory only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossings {
    /// From which offset on messages crossed at which time.
    log: VecDeque<(Offset, Time)>,
}

impl Crossings {
    /// Notes that the messages from `first` on crossed at `now`.
    pub(crate) fn note(&mut self, first: Offset, now: Time) {
        if self.log.back().is_none_or(|(_, at)| *at != now) {
            if self.log.len() == CROSSINGS_MAX {
                self.log.pop_front();
            }
            self.log.push_back((first, now));
        }
    }

    /// When the message at `offset` crossed, as far as that is remembered.
    pub(crate) fn crossed_at(&self, offset: Offset) -> Option<Time> {
        let after = self.log.partition_point(|(first, _)| *first <= offset);
        self.log.get(after.checked_sub(1)?).map(|(_, at)| *at)
    }
}
