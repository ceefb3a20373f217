//! `punctual check`: reads everything in a data directory that no broker has open, and says what
//! does not fit.
//!
//! It opens the store as a broker would (with its lock, its recovery of a log that was cut off),
//! so it is not strictly read-only; it writes nothing of its own.

use std::{collections::BTreeMap, path::PathBuf};

use bytes::Bytes;
use clap::Args;
use punctual_core::format::{
    FormatError, MessageRecord, StateKey, failure, partition_totals::PartitionTotals, reader_state,
    shard_meta::ShardMeta, state_key::FIRST_FOREIGN_FAMILY, subscription_totals::SubscriptionTotals,
    timeline_state::TimelineState, transfer,
};
use punctual_store_api::{ShardStore, Store as _, StoreError};
use punctual_store_fjall::{FjallStore, OpenOptions};
use punctual_types::{Lane, Position, Read, ReadReply, Record, ShardNumber, TimelineId};
use serde_json::json;

use crate::{exit::Exit, failure::Failure, output::Output, store_failure};

/// Records and bytes that are read at once.
const PAGE_RECORDS: u32 = 1000;
const PAGE_BYTES: u64 = 8 << 20;
/// The file that tells a data directory from any other.
const FORMAT_FILE: &str = "punctual.format";
/// What a good report does not mean.
const NOT_CHECKED: &str = "not checked: index entries of keys and dedup ids, the catalogue of topics and \
    subscriptions beyond its presence, and what lies below the floors and waits to be reclaimed";

/// `punctual check`
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The data directory
    dir: PathBuf,
}

/// What was found.
#[derive(Debug, Default)]
struct Found {
    shards: u16,
    state_pieces: u64,
    catalogue_pieces: u64,
    timelines: u64,
    scheduled: u64,
    ready: u64,
    bytes: u64,
    faults: Vec<String>,
}

impl Check {
    /// Checks the directory.
    ///
    /// # Errors
    /// Exit code 15 when something does not fit, the codes of the server when the directory
    /// cannot be opened.
    pub(crate) async fn run(self, output: Output) -> Result<(), Failure> {
        // Opening would make a directory that does not exist, or is empty.
        if !self.dir.join(FORMAT_FILE).is_file() {
            let message = format!("`{}` is no data directory: it has no file `{FORMAT_FILE}`", self.dir.display());
            return Err(Failure::new(Exit::DataFormat, message));
        }
        let store =
            FjallStore::open(&self.dir, &OpenOptions::new(1, [0; 16])).map_err(|e| store_failure::failure(&e))?;
        let mut found = Found { shards: store.shards(), ..Found::default() };
        for number in 0..store.shards() {
            let number = ShardNumber(number);
            let checked = match store.shard(number) {
                Ok(shard) => found.check_shard(number, shard.as_ref()).await,
                Err(error) => Err(error),
            };
            if let Err(error) = checked {
                found.faults.push(format!("shard {number}: {error}"));
            }
        }
        store.close().map_err(|error| store_failure::failure(&error))?;
        found.print(output)
    }
}

impl Found {
    async fn check_shard(&mut self, number: ShardNumber, shard: &dyn ShardStore) -> Result<(), StoreError> {
        let mut timelines = BTreeMap::new();
        shard.load_state(&mut |key, value| {
            if let Err(fault) = self.check_state(&key, value, &mut timelines) {
                self.faults.push(format!("shard {number}: {fault}"));
            }
        })?;
        for (timeline, state) in timelines {
            self.check_timeline(number, shard, timeline, state).await?;
        }
        Ok(())
    }

    fn check_state(
        &mut self,
        key: &Bytes,
        value: Bytes,
        timelines: &mut BTreeMap<TimelineId, TimelineState>,
    ) -> Result<(), String> {
        if key.first().is_some_and(|family| *family >= FIRST_FOREIGN_FAMILY) {
            self.catalogue_pieces += 1;
            return Ok(());
        }
        self.state_pieces += 1;
        let name =
            StateKey::from_bytes(key).ok_or_else(|| format!("a piece of state has an unknown key {key:02x?}"))?;
        let read: Result<(), FormatError> = match name {
            StateKey::Shard => ShardMeta::decode(value).map(drop),
            StateKey::Timeline(timeline) => TimelineState::decode(value).map(|state| {
                timelines.insert(timeline, state);
            }),
            StateKey::Reader(..) => reader_state::decode(value).map(drop),
            StateKey::AckChunk(..) => reader_state::decode_chunk(&value).map(drop),
            StateKey::Failure(..) => failure::Failure::decode(value).map(drop),
            StateKey::SubscriptionTotals(..) => SubscriptionTotals::decode(value).map(drop),
            StateKey::PartitionTotals(..) => PartitionTotals::decode(value).map(drop),
            StateKey::Arrived(_) => transfer::decode_arrived(value).map(drop),
        };
        read.map_err(|error| format!("{name:?}: {error}"))
    }

    async fn check_timeline(
        &mut self,
        number: ShardNumber,
        shard: &dyn ShardStore,
        timeline: TimelineId,
        state: TimelineState,
    ) -> Result<(), StoreError> {
        self.timelines += 1;
        let (mut ready, mut scheduled) = (0, 0);
        let mut after = state.floor.position;
        loop {
            let window = Read::Window {
                timeline,
                after,
                to: Position::MAX,
                limit: PAGE_RECORDS,
                bytes_max: PAGE_BYTES,
                values: true,
            };
            let records = match shard.read(vec![window]).await?.pop() {
                Some(ReadReply::Records(records)) => records,
                Some(ReadReply::Record(_) | ReadReply::Offset(_) | ReadReply::Entry(_) | ReadReply::Counts(_))
                | None => {
                    return Err(StoreError::corrupt(format!("{timeline:?}"), "the store answered another question"));
                }
            };
            let Some(last) = records.last() else { break };
            after = last.position;
            for record in records {
                *(if record.position <= state.line.position { &mut ready } else { &mut scheduled }) += 1;
                self.bytes += record.value.len() as u64;
                if let Err(fault) = check_record(timeline, record) {
                    self.faults.push(format!("shard {number}: {timeline:?}: {fault}"));
                }
            }
        }
        self.ready += ready;
        self.scheduled += scheduled;
        let crossed = state.line.offset.0.saturating_sub(state.floor.offset.0);
        for (what, counted, kept) in
            [("between floor and line", ready, crossed), ("ahead of the line", scheduled, state.scheduled)]
        {
            if counted != kept {
                self.faults
                    .push(format!("shard {number}: {timeline:?}: {counted} records {what}, the state says {kept}"));
            }
        }
        Ok(())
    }

    fn print(self, output: Output) -> Result<(), Failure> {
        let object = json!({
            "shards": self.shards, "state_pieces": self.state_pieces, "catalogue_pieces": self.catalogue_pieces,
            "timelines": self.timelines, "scheduled": self.scheduled, "ready": self.ready, "record_bytes": self.bytes,
            "faults": self.faults, "not_checked": NOT_CHECKED,
        });
        output.print(&object, || {
            let mut lines = vec![
                format!("shards     {}", self.shards),
                format!("state      {} pieces, {} of the catalogue", self.state_pieces, self.catalogue_pieces),
                format!("timelines  {}", self.timelines),
                format!("records    {} scheduled, {} past the line, {} bytes", self.scheduled, self.ready, self.bytes),
            ];
            lines.extend(self.faults.iter().map(|fault| format!("fault      {fault}")));
            let verdict = if self.faults.is_empty() { "no fault was found" } else { "the directory is damaged" };
            lines.push(verdict.to_owned());
            lines.push(NOT_CHECKED.to_owned());
            lines.join("\n")
        })?;
        if self.faults.is_empty() { Ok(()) } else { Err(Failure::told(Exit::DataCorrupt)) }
    }
}

fn check_record(timeline: TimelineId, record: Record) -> Result<(), String> {
    let position = record.position;
    match timeline.lane {
        Lane::Priority(_) | Lane::Retry(_) => {
            MessageRecord::decode(record.value).map(drop).map_err(|error| format!("{position:?}: {error}"))
        }
        Lane::Outgoing(_) => transfer::decode(record.value).map(drop).map_err(|error| format!("{position:?}: {error}")),
        // Marks without a content of their own.
        Lane::Expiry | Lane::Check => Ok(()),
    }
}
