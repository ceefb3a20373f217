//! How a store is put under test.

use crate::Store;

/// A store under test, with whatever it lies in.
pub trait Harness: Sized {
    /// A new, empty store.
    fn create(shards: u16) -> Self;

    /// The store.
    fn store(&self) -> &dyn Store;

    /// Closes the store and opens it again.
    #[must_use]
    fn reopen(self) -> Self;

    /// Lets the machine die and opens what is left: at least what is durable. `Err` gives the
    /// harness back when it cannot do that.
    ///
    /// # Errors
    /// When this store cannot be crashed inside a test.
    fn crash(self) -> Result<Self, Self> {
        Err(self)
    }

    /// Lets syncs happen that were asked for, when the store does not sync by itself.
    fn sync(&self) {}
}
