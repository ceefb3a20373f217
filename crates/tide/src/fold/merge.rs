//! Merging runs: to bound their number, and to shed what was removed or passed since.
//!
//! Neighbours are merged, so that a stretch of sequence numbers stays in one place, and neighbours of
//! about one size, so that a record is merged once for each size and not with every new run.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, PoisonError},
};

use punctual_store_api::StoreError;
use punctual_types::{Position, ShardNumber, TimelineId};

use super::{manifest::Manifest, named};
use crate::{
    limits::RUN_BYTES_MAX,
    run::{Removed, Run, RunWriter, Slice},
    shared::Shared,
    wheel::Span,
};

/// What has gone from each timeline: its floor, and what was removed above it.
type Gone = HashMap<(ShardNumber, TimelineId), (Position, Arc<Removed>)>;

impl Shared {
    /// Merges as many neighbouring runs of about one size as there may be.
    pub(crate) fn merge_if_due(&self) -> Result<(), StoreError> {
        let _folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        let manifest = self.manifest().clone();
        let sizes: Vec<u64> = manifest.runs.iter().map(|(_, bytes)| *bytes).collect();
        match due(&sizes, self.merge_runs) {
            Some(range) => self.unless_full(|| self.merge(&manifest, range)),
            None => Ok(()),
        }
    }

    fn merge(&self, manifest: &Manifest, range: Range<usize>) -> Result<(), StoreError> {
        let vfs = &*self.vfs;
        let runs = self.runs(manifest)?;
        let merged: Arc<[Arc<Run>]> = runs.get(range.clone()).unwrap_or_default().into();
        let sections: BTreeSet<(ShardNumber, TimelineId)> = merged.iter().flat_map(|run| run.sections()).collect();
        // Asked first and synced then: what makes a record go is durable before it is left out.
        let gone: Gone = sections
            .iter()
            .map(|&(shard, timeline)| ((shard, timeline), self.shard(shard).kept().gone(timeline)))
            .collect();
        self.sync()?;

        let mut writer = RunWriter::create(vfs, manifest.next_run())?;
        for (shard, timeline) in sections {
            let (floor, removed) = gone.get(&(shard, timeline)).cloned().unwrap_or_default();
            let slice = Slice { shard, timeline, runs: merged.clone(), removed };
            let mut records = slice.records(Span { after: floor, to: Position::MAX });
            while let Some(record) = records.next()? {
                writer.put(shard, timeline, record.position, &record.value)?;
            }
        }
        let written = writer.finish(vfs)?;
        vfs.sync_directory().map_err(|error| StoreError::failed("syncing", vfs.shown(), error))?;

        let mut next: Vec<Arc<Run>> = runs.to_vec();
        next.splice(range, written);
        let next: Arc<[Arc<Run>]> = next.into();
        let manifest = Manifest { merges: manifest.merges + 1, runs: named(&next), ..manifest.clone() };
        manifest.write(vfs)?;
        *self.manifest() = manifest;
        let left_out = gone.into_iter().map(|(place, (_, removed))| (place, removed)).collect();
        for shard in self.numbers() {
            self.shard(shard).kept().set_runs(&merged, next.clone(), &left_out);
        }
        self.remove_strays()
    }
}

/// Which neighbours are to be merged, if so many are of about one size.
fn due(sizes: &[u64], many: usize) -> Option<Range<usize>> {
    // The newest first: they are the smallest, and their number grows with every fold.
    let starts = (0..=sizes.len().checked_sub(many)?).rev();
    starts.map(|begin| begin..begin + many).find(|range| {
        let sizes = sizes.get(range.clone()).unwrap_or_default();
        let (least, most) = (sizes.iter().min(), sizes.iter().max());
        let is_one_size = least.zip(most).is_some_and(|(least, most)| most / many as u64 <= *least);
        is_one_size && sizes.iter().sum::<u64>() <= RUN_BYTES_MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_about_one_size_are_merged_and_the_newest_first() {
        for (sizes, range) in [
            (&[][..], None),
            (&[100, 100], None),
            (&[100, 100, 100], Some(0..3)),
            (&[100, 100, 100, 100], Some(1..4)),
            (&[1_000, 100, 100], None),
            (&[1_000, 100, 120, 90], Some(1..4)),
            (&[1_000, 900, 800, 100, 120], Some(0..3)),
            (&[RUN_BYTES_MAX / 3, RUN_BYTES_MAX / 3, RUN_BYTES_MAX / 3], Some(0..3)),
            (&[RUN_BYTES_MAX / 3, RUN_BYTES_MAX / 3, RUN_BYTES_MAX / 3 + 3], None),
        ] {
            assert_eq!(due(sizes, 3), range, "{sizes:?}");
        }
    }

    #[test]
    fn the_number_of_runs_grows_with_the_logarithm_of_what_they_hold() {
        let mut sizes = Vec::<u64>::new();
        for _ in 0..10_000 {
            sizes.extend([100]);
            while let Some(range) = due(&sizes, 8) {
                let sum = sizes[range.clone()].iter().sum();
                sizes.splice(range, [sum]);
            }
        }
        assert_eq!(sizes.iter().sum::<u64>(), 1_000_000);
        assert!(sizes.len() <= 7 * 5, "{sizes:?}");
    }
}
