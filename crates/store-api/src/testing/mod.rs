//! What every store is tested with.
