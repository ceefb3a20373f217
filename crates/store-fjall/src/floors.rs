//! The floors of one shard as its reads see them.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use punctual_types::{Mark, TimelineId};

/// The floors of one shard: what was written, durable or not.
#[derive(Default)]
pub(crate) struct Floors {
    marks: RwLock<HashMap<TimelineId, Mark>>,
    raised: AtomicU64,
}

impl Floors {
    /// The floor of a timeline.
    pub(crate) fn get(&self, timeline: TimelineId) -> Mark {
        let marks = self.marks.read().unwrap_or_else(PoisonError::into_inner);
        marks.get(&timeline).copied().unwrap_or_default()
    }

    /// Raises the floor of a timeline. A lower one changes nothing.
    pub(crate) fn raise(&self, timeline: TimelineId, mark: Mark) {
        let mut marks = self.marks.write().unwrap_or_else(PoisonError::into_inner);
        let kept = marks.entry(timeline).or_default();
        if mark.position > kept.position {
            *kept = mark;
            self.raised.fetch_add(1, Ordering::Release);
        }
    }

    /// A number that changes when a floor rises. A reader that counts from a floor looks at it
    /// before and after: what it counted may have been reclaimed under its eyes.
    pub(crate) fn raised(&self) -> u64 {
        self.raised.load(Ordering::Acquire)
    }
}
