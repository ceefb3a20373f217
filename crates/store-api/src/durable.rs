//! Proof that a commit is safe.

use punctual_types::CommitNumber;

/// Proof that a commit, and every commit of its shard before it, survives a crash of the machine.
///
/// A reply that says "done" takes one of these, so that it cannot be built before the sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Durable(CommitNumber);

impl Durable {
    /// Attests that the commit is durable. Only a store may say so, after its sync returned
    /// (`cargo xtask tidy` checks that no other crate calls this).
    pub const fn attest(commit: CommitNumber) -> Self {
        Self(commit)
    }

    /// The commit.
    #[must_use]
    pub const fn commit(self) -> CommitNumber {
        self.0
    }
}
