//! A batch on its way into fjall: one write per key.
//!
//! fjall gives all writes of a batch the same version number, so two writes of one key in one
//! batch would have no order. Here the later takes the place of the earlier.

use std::collections::BTreeMap;

use bytes::Bytes;
use fjall::{Database, OwnedWriteBatch, PersistMode};
use punctual_types::{Mark, TimelineId};

use crate::{database::Keyspaces, keys};

type RecordKey = [u8; keys::record::BYTES];
type IndexKey = [u8; keys::index::KEY_BYTES];

/// What a batch comes to.
#[derive(Default)]
pub(crate) struct Pending {
    records: BTreeMap<RecordKey, Option<Bytes>>,
    index: BTreeMap<IndexKey, [u8; keys::index::VALUE_BYTES]>,
    state: BTreeMap<Vec<u8>, Option<Bytes>>,
    floors: Vec<(TimelineId, Mark)>,
}

impl Pending {
    pub(crate) fn insert(&mut self, key: RecordKey, record: Bytes) {
        self.records.insert(key, Some(record));
    }

    pub(crate) fn remove(&mut self, key: RecordKey) {
        self.records.insert(key, None);
    }

    /// Removes the records that this same batch inserted and that `gone` picks.
    pub(crate) fn remove_inserted(&mut self, from: RecordKey, to: RecordKey, gone: impl Fn(&RecordKey) -> bool) {
        for (key, record) in self.records.range_mut(from..=to) {
            if gone(key) {
                *record = None;
            }
        }
    }

    pub(crate) fn put_index(&mut self, key: IndexKey, value: [u8; keys::index::VALUE_BYTES]) {
        self.index.insert(key, value);
    }

    pub(crate) fn put_state(&mut self, key: Vec<u8>, value: Option<Bytes>) {
        self.state.insert(key, value);
    }

    pub(crate) fn raise_floor(&mut self, timeline: TimelineId, mark: Mark) {
        self.floors.push((timeline, mark));
    }

    /// The floors that the batch raises.
    pub(crate) fn floors(&mut self) -> Vec<(TimelineId, Mark)> {
        std::mem::take(&mut self.floors)
    }

    /// The batch for fjall. Its bytes reach the operating system before its commit returns.
    pub(crate) fn into_batch(self, database: &Database, keyspaces: &Keyspaces) -> OwnedWriteBatch {
        let writes = self.records.len() + self.index.len() + self.state.len();
        let mut batch = OwnedWriteBatch::with_capacity(database.clone(), writes).durability(Some(PersistMode::Buffer));
        for (key, record) in self.records {
            match record {
                Some(record) => batch.insert(&keyspaces.records, key, record),
                None => batch.remove(&keyspaces.records, key),
            }
        }
        for (key, entry) in self.index {
            batch.insert(&keyspaces.index, key, entry);
        }
        for (key, value) in self.state {
            match value {
                Some(value) => batch.insert(&keyspaces.state, key, value),
                None => batch.remove(&keyspaces.state, key),
            }
        }
        batch
    }
}
