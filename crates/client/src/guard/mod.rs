//! Guards against the second delivery, on the consumer's own side.

mod idempotency;
mod marker;
mod memory_marker;
mod state_check;
mod unique_row;

pub use idempotency::{Guarded, Idempotency};
pub use marker::{Marker, MarkerError, MarkerGuard};
pub use memory_marker::MemoryMarker;
pub use state_check::{StateCheck, StateGuard};
pub use unique_row::{RowGuard, RowInserter};
