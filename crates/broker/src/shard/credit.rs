//! How much a consumer may still be given, shared by the shards that serve it.

use std::sync::atomic::{AtomicU32, Ordering};

/// A consumer's credit.
#[derive(Debug)]
pub(crate) struct Credit {
    left: AtomicU32,
    /// A receive call is answered by whoever has something first: taking any of its credit takes
    /// it all.
    once: bool,
}

impl Credit {
    /// Credit of a stream.
    pub(crate) const fn stream() -> Self {
        Self { left: AtomicU32::new(0), once: false }
    }

    /// Credit of one receive call.
    pub(crate) const fn once(messages: u32) -> Self {
        Self { left: AtomicU32::new(messages), once: true }
    }

    pub(crate) fn add(&self, messages: u32) {
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| Some(left.saturating_add(messages)));
    }

    /// Takes back all that is left, for good.
    pub(crate) fn close(&self) {
        self.left.store(0, Ordering::Release);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Takes up to `want`; answers how much was taken from the credit and how much of that may be
    /// used.
    pub(crate) fn take(&self, want: u32) -> Taken {
        let mut taken = 0;
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            taken = if self.once { left } else { left.min(want) };
            Some(left - taken)
        });
        Taken { held: taken, usable: taken.min(want) }
    }

    /// Gives back what was taken and not used. A receive call that got something is over.
    pub(crate) fn settle(&self, taken: Taken, used: u32) {
        if !self.once {
            self.add(taken.held - used);
        } else if used == 0 {
            self.add(taken.held);
        }
    }
}

/// Credit that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    held: u32,
    pub(crate) usable: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_gets_back_what_was_not_used() {
        let credit = Credit::stream();
        credit.add(10);
        let taken = credit.take(4);
        assert_eq!(taken.usable, 4);
        credit.settle(taken, 1);
        assert_eq!(credit.take(100).usable, 9);
        assert!(credit.is_empty());
    }

    #[test]
    fn a_receive_call_is_answered_by_one_shard_only() {
        let credit = Credit::once(10);
        let first = credit.take(4);
        assert_eq!(first.usable, 4);
        assert_eq!(credit.take(4).usable, 0);
        credit.settle(first, 0);
        let second = credit.take(20);
        assert_eq!(second.usable, 10);
        credit.settle(second, 3);
        assert!(credit.is_empty());
    }
}
