//! Counts of every partition, for the metrics page: written by the workers, read by a scrape.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use punctual_core::{PartitionId, PartitionStats};

/// The latest counts. Taken when they change and not when they are looked at, so that a scrape
/// costs the shards nothing.
#[derive(Debug, Default)]
pub(crate) struct Board {
    counts: Mutex<HashMap<PartitionId, PartitionStats>>,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, HashMap<PartitionId, PartitionStats>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn post(&self, partition: PartitionId, stats: Option<PartitionStats>) {
        match stats {
            Some(stats) => self.lock().insert(partition, stats),
            None => self.lock().remove(&partition),
        };
    }

    /// Whether anything was ever published to a partition.
    pub(crate) fn is_used(&self, partition: PartitionId) -> bool {
        self.lock().get(&partition).is_some_and(|stats| stats.totals.published > 0)
    }

    /// Shows some partitions.
    pub(crate) fn look(&self, partitions: &[PartitionId], mut show: impl FnMut(&PartitionStats)) {
        let counts = self.lock();
        partitions.iter().filter_map(|partition| counts.get(partition)).for_each(&mut show);
    }

    /// Shows every partition.
    pub(crate) fn read(&self, mut show: impl FnMut(PartitionId, &PartitionStats)) {
        for (partition, stats) in self.lock().iter() {
            show(*partition, stats);
        }
    }
}
