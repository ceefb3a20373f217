//! The latch that keeps the first failure of a store.

use std::sync::OnceLock;

use crate::StoreError;

/// The first failed write or sync. Once set, nothing is answered as written or durable any more.
#[derive(Default)]
pub struct Latch(OnceLock<StoreError>);

impl Latch {
    /// Keeps a failure unless there is one, and gives the one that is kept.
    #[must_use = "the failure that is kept may be an earlier one"]
    pub fn keep(&self, error: StoreError) -> StoreError {
        self.0.get_or_init(|| error).clone()
    }

    /// The failure that is kept.
    #[must_use]
    pub fn get(&self) -> Option<StoreError> {
        self.0.get().cloned()
    }

    /// Whether anything may still be answered.
    ///
    /// # Errors
    /// The failure that is kept.
    pub fn check(&self) -> Result<(), StoreError> {
        self.0.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}
