//! Markers in the memory of this process.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use punctual_broker_api::MessageId;

use super::{Marker, idempotency::system_clock};
use crate::Clock;

/// Markers in memory: for tests, and to keep the handlers of one process from each other. They are
/// gone with the process. What has expired is dropped when something is set.
#[derive(Clone)]
pub struct MemoryMarker {
    clock: Arc<dyn Clock>,
    entries: Arc<Mutex<BTreeMap<String, Entry>>>,
}

struct Entry {
    value: String,
    expires_at: Duration,
}

impl Default for MemoryMarker {
    fn default() -> Self {
        Self::with_clock(system_clock())
    }
}

impl MemoryMarker {
    /// Markers that expire by this clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, entries: Arc::default() }
    }

    /// The entries that have not expired.
    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        let now = self.clock.elapsed();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.expires_at > now);
        entries
    }

    fn entry(&self, value: &str, expiry: Duration) -> Entry {
        Entry { value: value.to_owned(), expires_at: self.clock.elapsed().saturating_add(expiry) }
    }
}

impl Marker for MemoryMarker {
    type Error = Infallible;

    async fn set_if_absent(&self, id: &MessageId, value: &str, expiry: Duration) -> Result<Option<String>, Infallible> {
        let mut entries = self.entries();
        if let Some(entry) = entries.get(id.as_str()) {
            return Ok(Some(entry.value.clone()));
        }
        entries.insert(id.as_str().to_owned(), self.entry(value, expiry));
        Ok(None)
    }

    async fn set(&self, id: &MessageId, value: &str, expiry: Duration) -> Result<(), Infallible> {
        self.entries().insert(id.as_str().to_owned(), self.entry(value, expiry));
        Ok(())
    }

    async fn remove(&self, id: &MessageId, value: &str) -> Result<(), Infallible> {
        let mut entries = self.entries();
        if entries.get(id.as_str()).is_some_and(|entry| entry.value == value) {
            entries.remove(id.as_str());
        }
        Ok(())
    }
}

impl fmt::Debug for MemoryMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryMarker({} entries)", self.entries().len())
    }
}
