//! The order of ordering keys on one reader: one message of a key at a time, the others after it.

use std::collections::BTreeMap;

use punctual_types::{HashBits, Offset, Position, limits};

/// What a message may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is its turn: no earlier one of its key is unsettled.
    Goes,
    /// It was put behind an earlier one of its key.
    Waits,
    /// It would have to wait, and no more can: the reader stops before it.
    Full,
}

/// Whose turn it is with a key, be it with a consumer, back at its place or parked, and who waits.
#[derive(Debug)]
struct Queue {
    turn: Offset,
    waiting: BTreeMap<Offset, Position>,
}

/// The keys that have a message between its reading and its settling.
#[derive(Debug, Default)]
pub(crate) struct Order {
    queues: BTreeMap<HashBits, Queue>,
    /// The key of everything that is in a queue.
    keys: BTreeMap<Offset, HashBits>,
    waiting: usize,
    /// Whether the reader stands before a message that cannot wait.
    stopped: bool,
}

impl Order {
    /// How many wait for an earlier one of their key.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting as u64
    }

    /// Whether the reader cannot go on before something is settled.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// A message of a key has been read.
    pub(crate) fn enter(&mut self, key: HashBits, offset: Offset, position: Position) -> Turn {
        let Some(queue) = self.queues.get_mut(&key) else {
            self.queues.insert(key, Queue { turn: offset, waiting: BTreeMap::new() });
            self.keys.insert(offset, key);
            return Turn::Goes;
        };
        if queue.turn == offset {
            return Turn::Goes;
        }
        if self.waiting >= limits::ORDERED_WAITING_MAX {
            self.stopped = true;
            return Turn::Full;
        }
        if queue.waiting.insert(offset, position).is_none() {
            self.waiting += 1;
        }
        self.keys.insert(offset, key);
        Turn::Waits
    }

    /// A message is settled; answers the next of its key, whose turn it is now.
    pub(crate) fn leave(&mut self, offset: Offset) -> Option<(Offset, Position)> {
        let key = self.keys.remove(&offset)?;
        self.stopped = false;
        let queue = self.queues.get_mut(&key)?;
        if queue.turn != offset {
            self.waiting -= usize::from(queue.waiting.remove(&offset).is_some());
            return None;
        }
        let Some((next, position)) = queue.waiting.pop_first() else {
            self.queues.remove(&key);
            return None;
        };
        self.waiting -= 1;
        queue.turn = next;
        Some((next, position))
    }
}

#[cfg(test)]
mod tests {
    use punctual_types::{Seq, Time};

    use super::*;

    const A: HashBits = [1; 16];
    const B: HashBits = [2; 16];

    fn at(offset: u64) -> (Offset, Position) {
        (Offset(offset), Position::new(Time::ZERO, Seq(offset)))
    }

    fn enter(order: &mut Order, key: HashBits, offset: u64) -> Turn {
        let (offset, position) = at(offset);
        order.enter(key, offset, position)
    }

    #[test]
    fn keys_do_not_wait_for_each_other() {
        let mut order = Order::default();
        assert_eq!([enter(&mut order, A, 0), enter(&mut order, A, 1)], [Turn::Goes, Turn::Waits]);
        assert_eq!([enter(&mut order, B, 2), enter(&mut order, A, 3)], [Turn::Goes, Turn::Waits]);
        assert_eq!(enter(&mut order, A, 0), Turn::Goes, "it goes again after its lease ended");
        assert_eq!(order.leave(Offset(1)), None, "what waits may leave too");
        assert_eq!(order.waiting(), 1);
        assert_eq!(order.leave(Offset(0)), Some(at(3)));
        assert_eq!((order.leave(Offset(2)), order.leave(Offset(3)), order.waiting()), (None, None, 0));
        assert!(order.queues.is_empty() && order.keys.is_empty());
    }

    #[test]
    fn the_reader_stops_when_no_more_can_wait_and_goes_on_when_one_leaves() {
        let mut order = Order::default();
        enter(&mut order, A, 0);
        let most = limits::ORDERED_WAITING_MAX as u64;
        assert!((1..=most).all(|offset| enter(&mut order, A, offset) == Turn::Waits));
        assert_eq!(enter(&mut order, B, most + 1), Turn::Goes, "what need not wait goes");
        assert_eq!(enter(&mut order, A, most + 2), Turn::Full);
        assert!(order.is_stopped());
        assert_eq!(order.leave(Offset(0)), Some(at(1)));
        assert!(!order.is_stopped());
        assert_eq!(enter(&mut order, A, most + 2), Turn::Waits);
    }
}
