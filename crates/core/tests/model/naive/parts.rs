//! What the model is made of.

use std::collections::{BTreeMap, BTreeSet};

use punctual_types::{Lane, MessageRef, Position};

/// What became of a message by somebody's decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Pending,
    DeliveredNow(u64),
    Cancelled(u64),
    Replaced,
}

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: MessageRef,
    pub(crate) published_at: u64,
    pub(crate) key: Option<u8>,
    pub(crate) dedup: Option<u8>,
    pub(crate) order: Option<u8>,
    pub(crate) tag: Option<u8>,
    /// Where it stands or last stood on the timeline of its priority.
    pub(crate) stands: Position,
    pub(super) fate: Fate,
    /// When it was removed, for how long that is told.
    pub(super) gone_at: u64,
    /// When somebody was last told that it had crossed, by id and by key.
    pub(super) told_crossed: Option<u64>,
    pub(super) told_crossed_by_key: Option<u64>,
}

/// A message on a timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Copy {
    pub(crate) message: usize,
    pub(crate) attempts: u32,
    pub(crate) dead: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) ahead: BTreeMap<Position, Copy>,
    pub(crate) crossed: Vec<(Position, Copy)>,
    /// So many of what crossed are dropped.
    pub(crate) floor: usize,
}

impl Line {
    pub(crate) fn position(&self) -> Position {
        self.crossed.last().map_or(Position::MIN, |(position, _)| *position)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) serial: u64,
    pub(crate) attempt: u32,
    pub(crate) consumer: u64,
    pub(crate) expires_at: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Everything below counts as settled.
    pub(super) begin: usize,
    pub(super) settled: BTreeSet<usize>,
    pub(super) acked_by: BTreeMap<usize, u64>,
    pub(super) failures: BTreeMap<usize, u32>,
    /// What a restart holds back until then.
    pub(super) not_before: BTreeMap<usize, u64>,
    pub(crate) parked: BTreeMap<usize, u64>,
    pub(crate) held: BTreeMap<usize, Held>,
}

impl Reading {
    pub(crate) fn is_settled(&self, offset: usize) -> bool {
        offset < self.begin || self.settled.contains(&offset)
    }

    pub(super) fn floor(&self) -> usize {
        (self.begin..).find(|offset| !self.settled.contains(offset)).expect("some offset is not settled")
    }

    /// What waits and is neither held nor held back.
    pub(crate) fn ready(&self, line: &Line) -> Vec<usize> {
        let held = |offset: &usize| self.held.contains_key(offset) || self.parked.contains_key(offset);
        (self.begin..line.crossed.len()).filter(|offset| !self.is_settled(*offset) && !held(offset)).collect()
    }

    /// Settles a message, with all that was remembered of it.
    pub(super) fn settle(&mut self, offset: usize) {
        self.settled.insert(offset);
        self.failures.remove(&offset);
        self.not_before.remove(&offset);
        self.parked.remove(&offset);
    }

    /// As a new ownership of the shard finds it.
    pub(super) fn reopen(&mut self, time: u64) {
        self.held.clear();
        self.acked_by.clear();
        self.parked =
            self.not_before.iter().filter(|(_, until)| **until > time).map(|(at, until)| (*at, *until)).collect();
    }
}

/// What a subscription does with what it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Plain,
    /// It wants one tag.
    Filtered,
    Ordered,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    pub(crate) kind: Kind,
    pub(crate) lanes: BTreeMap<Lane, Reading>,
    pub(crate) delivered: u64,
    pub(crate) acked: u64,
    pub(crate) failed: u64,
    pub(crate) retried: u64,
    pub(crate) dead: u64,
    pub(crate) filtered: u64,
}

impl Reader {
    pub(crate) fn held(&self) -> u32 {
        self.lanes.values().map(|reading| reading.held.len() as u32).sum()
    }
}
