//! The fjall database of a data directory and its three keyspaces.

use std::{path::Path, sync::Arc};

use fjall::{
    Database, Keyspace, KeyspaceCreateOptions, PersistMode,
    config::{BlockSizePolicy, CompressionPolicy},
};
use punctual_store_api::StoreError;

use crate::{
    OpenOptions,
    directory::{DataDirectory, sync_found},
    failure, limits,
    reclaim::Reclaim,
};

/// The keyspaces. Apart, because they differ in how they die: records behind a floor and in
/// bulk, index entries one by one in their own time, state by being overwritten.
pub(crate) struct Keyspaces {
    pub(crate) records: Keyspace,
    pub(crate) index: Keyspace,
    pub(crate) state: Keyspace,
}

pub(crate) const RECORDS: &str = "records";
pub(crate) const INDEX: &str = "index";
pub(crate) const STATE: &str = "state";

/// Opens the database of a directory, and makes it first when there is none.
pub(crate) fn open(
    directory: &DataDirectory,
    options: &OpenOptions,
    reclaim: &Arc<Reclaim>,
) -> Result<(Database, Keyspaces), StoreError> {
    let failed = |error| failure::opening(&directory.shown(), &directory.database().display().to_string(), error);
    if directory.lacks_database()? {
        let new = directory.empty_database_new()?;
        // Closed again before it gets its name: fjall remembers the path it was opened with.
        let (database, _keyspaces) = open_at(&new, options, reclaim).map_err(failed)?;
        database.persist(PersistMode::SyncAll).map_err(failed)?;
        drop((database, _keyspaces));
        sync_found(&new)?;
        directory.adopt_database()?;
    }
    sync_found(&directory.database())?;
    open_at(&directory.database(), options, reclaim).map_err(failed)
}

fn open_at(path: &Path, options: &OpenOptions, reclaim: &Arc<Reclaim>) -> fjall::Result<(Database, Keyspaces)> {
    let reclaim = reclaim.clone();
    let database = Database::builder(path)
        .cache_size(options.cache_bytes)
        .worker_threads(limits::WORKER_THREADS)
        .max_journaling_size(limits::JOURNALS_BYTES_MAX)
        .with_compaction_filter_factories(Arc::new(move |keyspace| reclaim.filter_of(keyspace)))
        .open()?;
    let plain = || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(options.memtable_bytes_if_new)
            .data_block_compression_policy(CompressionPolicy::disabled())
    };
    // Records are read in long runs or by a position that exists: bigger blocks, and no filter on
    // the last level. Index entries are mostly looked up in vain: small blocks and every filter.
    let records = database.keyspace(RECORDS, || {
        plain().data_block_size_policy(BlockSizePolicy::all(16 << 10)).expect_point_read_hits(true)
    })?;
    let index = database.keyspace(INDEX, plain)?;
    let state = database.keyspace(STATE, plain)?;
    Ok((database, Keyspaces { records, index, state }))
}
