//! Checking a data directory that nobody has open: every checksum and every promise of the files to
//! each other, without changing anything.

use std::{path::Path, sync::Arc};

use punctual_store_api::StoreError;
use punctual_types::ShardNumber;

use crate::{
    fold::{self, checkpoint, manifest::Manifest},
    home::{self, Home},
    journal::verify,
    kept::Kept,
    vfs::{Directory, Vfs},
};

/// What a check found in a directory that is in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Batches of the journal that a start will do again.
    pub batches: u64,
    /// Runs that count.
    pub runs: u64,
    /// Records in them, dead ones included.
    pub records: u64,
    /// File and byte where a crash has torn the journal, if it has: a start cuts off what lies behind,
    /// which had never been durable.
    pub torn: Option<(String, u64)>,
}

/// Checks a data directory.
///
/// # Errors
/// `Unusable` when it is none or in use, `Corrupt` for the first damage that is found.
pub fn check(path: impl AsRef<Path>) -> Result<Checked, StoreError> {
    let shown = path.as_ref().display().to_string();
    let directory = Directory::existing(path.as_ref());
    check_on(Arc::new(directory.map_err(|error| home::unusable(&shown, "looking at it", &error))?))
}

/// Checks a data directory on files of any kind.
///
/// # Errors
/// As [`check`].
pub fn check_on(vfs: Arc<dyn Vfs>) -> Result<Checked, StoreError> {
    let home = Home::open_to_look(&vfs)?;
    let (shards, secret) = (home.format().shards, home.format().secret);
    let manifest = Manifest::read(&*vfs)?;
    let runs = fold::open_runs(&*vfs, &manifest)?;
    let mut records = 0;
    for run in runs.iter() {
        records += run.verify()?;
    }
    let mut shards: Vec<Kept> = (0..shards).map(|shard| Kept::new(ShardNumber(shard), runs.clone())).collect();
    if manifest.folds > 0 {
        checkpoint::load(&*vfs, secret, manifest.folds, &mut shards)?;
    }
    let (batches, torn) = verify(&*vfs, secret, manifest.start, &mut |found| fold::apply(&mut shards, &found))?;
    Ok(Checked { batches, runs: runs.len() as u64, records, torn })
}
