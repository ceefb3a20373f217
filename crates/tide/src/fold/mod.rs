//! Folding: the oldest of the journal becomes a run and a checkpoint, so that the journal can be cut.
//!
//! The full segments are replayed upon the last checkpoint, by the code that a start uses. What that
//! gives, without the records that are gone by now, is written down; then the manifest names it; then
//! what it replaces is removed. Commits and reads go on meanwhile: a shard is held only to ask which
//! records are still there, and to look for them in the run from then on.
//!
//! The order in which things become durable is the whole point:
//! 1. whoever has written to a segment and not yet to the memory is waited for, and from now on the
//!    shards note what they remove;
//! 2. which records are still there is asked, then the journal is synced: whatever made a record go
//!    is durable before the record is left out;
//! 3. run and checkpoint are written and synced, then the directory;
//! 4. the manifest is replaced, durably;
//! 5. the shards look into the run; the segments, the last checkpoint and dead runs are removed.

pub(crate) mod checkpoint;
pub(crate) mod manifest;
mod merge;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use punctual_store_api::StoreError;
use punctual_types::{Position, ShardNumber, TimelineId};

use crate::{
    journal::{Segment, Start, replay},
    kept::{Kept, Place},
    limits::FOLD_CHUNK,
    run::{Run, RunNumber, RunWriter},
    shared::Shared,
    vfs::{Vfs, is_full},
    wheel::Entry,
};
use manifest::Manifest;

/// A record's place in a run-to-be: its shard, its timeline and its entry, in that order.
type Leaving = (ShardNumber, TimelineId, Vec<Entry>);

impl Shared {
    /// Folds the oldest segments when the full ones have come to the bound.
    pub(crate) fn fold_if_due(&self) -> Result<(), StoreError> {
        let _folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        let full = self.journal.full();
        let bytes: u64 = full.iter().map(|segment| segment.len).sum();
        if bytes < self.fold_bytes {
            return Ok(());
        }
        // The newer half stays: the younger a record, the likelier it is to go by itself. And no more
        // than half at once, however far it has fallen behind: what is folded is in memory meanwhile.
        let half = self.fold_bytes / 2;
        let (mut taken, mut rest) = (0, bytes);
        let oldest: Vec<_> = full
            .into_iter()
            .take_while(|segment| {
                let is_taken = taken < half && rest > half;
                taken += segment.len;
                rest -= segment.len;
                is_taken
            })
            .collect();
        let folded = self.unless_full(|| self.fold(&oldest));
        // Also when it came to an end half-way.
        self.set_folding(false);
        folded
    }

    /// Does something for which the disk may be full: that ends it, and not the store.
    fn unless_full(&self, write: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        match write() {
            Err(error) if is_full(&error) => self.remove_strays(),
            done => done,
        }
    }

    fn fold(&self, segments: &[Arc<Segment>]) -> Result<(), StoreError> {
        let Some(last) = segments.last() else { return Ok(()) };
        let manifest = self.manifest().clone();
        let vfs = &*self.vfs;
        let secret = self.secret();
        let number = manifest.folds + 1;

        let runs = self.runs(&manifest)?;
        let mut shards: Vec<Kept> = self.numbers().map(|shard| Kept::new(shard, runs.clone())).collect();
        if manifest.folds > 0 {
            checkpoint::load(vfs, secret, manifest.folds, &mut shards)?;
        }
        let replayed = replay(segments, manifest.start.link, &mut |found| apply(&mut shards, &found))?;

        self.set_folding(true);
        let leaving = self.leaving(&mut shards);
        let floors = self.floors(&runs);
        self.sync()?;

        let mut writer = RunWriter::create(vfs, manifest.next_run())?;
        for (shard, timeline, entries) in leaving {
            for entry in entries {
                let record = replayed.record(entry.location).expect("it was found there");
                writer.put(shard, timeline, entry.position, record)?;
            }
        }
        let link = replayed.link;
        drop(replayed);
        let written = writer.finish(vfs)?;
        let is_dead = |run: &Arc<Run>| {
            run.ends().all(|(shard, timeline, last)| floors.get(&(shard, timeline)).is_some_and(|floor| last <= *floor))
        };
        let (dead, alive): (Vec<_>, Vec<_>) = runs.iter().cloned().partition(is_dead);
        let runs: Arc<[Arc<Run>]> = alive.into_iter().chain(written).collect();
        checkpoint::write(vfs, secret, number, &shards, &runs)?;
        vfs.sync_directory().map_err(|error| StoreError::failed("syncing", vfs.shown(), error))?;

        let start = Start { segment: last.number.next(), link };
        let next = Manifest { folds: number, start, runs: named(&runs), ..manifest };
        next.write(vfs)?;
        *self.manifest() = next;
        for shard in self.numbers() {
            self.shard(shard).adopt(last.number, &runs);
        }
        self.adopted.fetch_add(1, Ordering::AcqRel);
        drop(dead);
        self.journal.forget(segments)?;
        self.remove_strays()
    }

    /// Which of the records that were folded are still there, and of which timeline.
    fn leaving(&self, folded: &mut [Kept]) -> Vec<Leaving> {
        let mut leaving = Vec::new();
        for (shard, folded) in self.numbers().zip(folded) {
            for timeline in folded.timelines() {
                let mut present = Vec::new();
                // In pieces, so that nobody waits long for the shard.
                for piece in folded.entries(timeline).chunks(FOLD_CHUNK) {
                    present.extend(self.shard(shard).kept().present(timeline, piece));
                }
                leaving.push((shard, timeline, present));
            }
        }
        leaving
    }

    /// The floors of the timelines that some runs have.
    fn floors(&self, runs: &[Arc<Run>]) -> HashMap<(ShardNumber, TimelineId), Position> {
        let sections = runs.iter().flat_map(|run| run.ends());
        sections.map(|(shard, timeline, _)| ((shard, timeline), self.shard(shard).kept().floor(timeline))).collect()
    }

    fn set_folding(&self, is_folding: bool) {
        for shard in self.numbers() {
            self.shard(shard).set_folding(is_folding);
        }
    }

    /// The runs that a manifest names.
    fn runs(&self, manifest: &Manifest) -> Result<Arc<[Arc<Run>]>, StoreError> {
        open_runs(&*self.vfs, manifest)
    }

    /// Removes what the manifest does not name: what it replaced, or what was to be named and failed.
    fn remove_strays(&self) -> Result<(), StoreError> {
        let manifest = self.manifest().clone();
        remove_strays(&*self.vfs, &manifest)
    }
}

/// Runs as a manifest names them.
fn named(runs: &[Arc<Run>]) -> Vec<(RunNumber, u64)> {
    runs.iter().map(|run| (run.number, run.bytes)).collect()
}

/// Opens the runs that a manifest names.
pub(crate) fn open_runs(vfs: &dyn Vfs, manifest: &Manifest) -> Result<Arc<[Arc<Run>]>, StoreError> {
    let open = |(number, bytes): &(RunNumber, u64)| {
        let run = Run::open(vfs, *number)?;
        if run.bytes != *bytes {
            let detail = format!("it has {} bytes and the manifest says {bytes}", run.bytes);
            return Err(StoreError::corrupt(number.file_name(), detail));
        }
        Ok(run)
    };
    manifest.runs.iter().map(open).collect()
}

/// Does what a batch that was found says.
pub(crate) fn apply(shards: &mut [Kept], found: &crate::journal::Found<'_>) -> Result<(), StoreError> {
    let what = || found.location.segment.file_name();
    let Some(kept) = shards.get_mut(usize::from(found.shard.0)) else {
        return Err(StoreError::corrupt(what(), format!("it has a batch of shard {}", found.shard)));
    };
    let place = Place { segment: found.location.segment, at: found.location.at };
    kept.apply(found.payload, place).map_err(|none| {
        let at = u64::from(found.location.at) + none.at as u64;
        StoreError::corrupt(what(), format!("the batch step at byte {at} is none"))
    })
}

/// Removes the files of folds and of the journal that a manifest does not name.
pub(crate) fn remove_strays(vfs: &dyn Vfs, manifest: &Manifest) -> Result<(), StoreError> {
    let is_stray = |name: &str| {
        let run = RunNumber::of_file(name).is_some_and(|number| !manifest.runs.iter().any(|(run, _)| *run == number));
        let checkpoint = checkpoint::number_of(name).is_some_and(|number| number != manifest.folds);
        let segment = crate::journal::SegmentNumber::of_file(name);
        run || checkpoint
            || segment.is_some_and(|number| number < manifest.start.segment)
            || name == manifest::MANIFEST_NEW
    };
    let names = vfs.list().map_err(|error| StoreError::failed("listing", vfs.shown(), error))?;
    for name in names.iter().filter(|name| is_stray(name)) {
        vfs.remove(name).map_err(|error| StoreError::failed("removing", &**name, error))?;
    }
    Ok(())
}
