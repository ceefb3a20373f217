//! When messages crossed the line, for lateness and for definite answers.

use std::collections::VecDeque;

use punctual_types::{Offset, Position, Time, limits};

/// Crossings remembered at most; what is older is told as if it had not been late.
const CROSSINGS_MAX: usize = 4096;

/// The recent past of a now-line. In memory only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossings {
    /// From which offset on messages crossed at which time.
    log: VecDeque<(Offset, Time)>,
    /// Where the line stood at two moments, at least ten minutes apart.
    older: (Position, Time),
    newer: (Position, Time),
}

impl Crossings {
    /// The past of a line that was found here at start.
    pub(crate) fn starting_at(line: Position, now: Time) -> Self {
        Self { log: VecDeque::new(), older: (line, now), newer: (line, now) }
    }

    /// Notes that the messages from `first` on crossed at `now`, when the line had stood at `before`.
    pub(crate) fn note(&mut self, first: Offset, before: Position, now: Time) {
        if self.log.back().is_none_or(|(_, at)| *at != now) {
            if self.log.len() == CROSSINGS_MAX {
                self.log.pop_front();
            }
            self.log.push_back((first, now));
        }
        if now.since(self.newer.1) >= limits::OUTCOME_KEPT {
            self.older = self.newer;
            self.newer = (before, now);
        }
    }

    /// When the message at `offset` crossed, as far as that is remembered.
    pub(crate) fn crossed_at(&self, offset: Offset) -> Option<Time> {
        let after = self.log.partition_point(|(first, _)| *first <= offset);
        self.log.get(after.checked_sub(1)?).map(|(_, at)| *at)
    }

    /// Whether a position behind the line crossed it lately: surely when that was within ten
    /// minutes, surely not when it was more than twenty ago.
    pub(crate) fn is_recent(&self, position: Position, now: Time) -> bool {
        let since =
            |(line, at): (Position, Time)| position > line && now.since(at).ms() <= 2 * limits::OUTCOME_KEPT.ms();
        since(self.newer) || since(self.older)
    }
}
