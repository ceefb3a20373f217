//! How many records a second a fjall store takes, and how long a batch waits for its sync.
//!
//! `cargo run --release -p punctual-store-fjall --example commit_rate -- [DIRECTORY] [RECORDS]`
//!
//! One shard inserts 200-byte records that do not compress, in batches, with a sync for each.
//! *In turn* waits for a batch's sync before it writes the next; *ahead* writes the next meanwhile.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures and prints")]

use std::{collections::VecDeque, env, error::Error, path::Path, time::Instant};

use bytes::Bytes;
use punctual_store_api::{Store, testing::wait};
use punctual_store_fjall::{FjallStore, OpenOptions};
use punctual_types::{Batch, PartitionNumber, Position, Seq, ShardNumber, Time, TimelineId, TopicNumber, Write};

const RECORD_BYTES: usize = 200;
const MINUTE_MS: u64 = 60_000;
const YEAR_MS: u64 = 365 * 24 * 60 * MINUTE_MS;
/// Batches whose sync may be under way while the next is written.
const AHEAD: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let parent = arguments.next().unwrap_or_else(|| env::temp_dir().display().to_string());
    let records: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    println!("{records} records of {RECORD_BYTES} bytes below {parent}");
    println!(
        "batch  spread     way      records/s   write p50   p50 ms   p99 ms   worst ms   syncs   disk MiB   memory MiB"
    );
    for (spread, spread_ms) in [("60 s", MINUTE_MS), ("1 year", YEAR_MS)] {
        for batch in [64, 1000] {
            for ahead in [0, AHEAD] {
                let directory = tempfile::tempdir_in(&parent)?;
                // Small batches pay a sync each: fewer of them make the same point.
                let records = if batch == 64 { records / 10 } else { records };
                measure(directory.path(), records, batch, (spread, spread_ms), ahead)?;
            }
        }
    }
    Ok(())
}

fn measure(
    directory: &Path,
    records: u64,
    batch: u64,
    (spread, spread_ms): (&str, u64),
    ahead: usize,
) -> Result<(), Box<dyn Error>> {
    let store = FjallStore::open(directory, &OpenOptions::new(1, [1; 16]))?;
    let syncs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = syncs.clone();
    store.observe_syncs(std::sync::Arc::new(move |_, _| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }));
    let shard = store.shard(ShardNumber(0))?;
    let mut noise = Noise(7);
    let (mut writing, mut waits) = (Vec::<f64>::new(), Vec::<f64>::new());
    let mut under_way = VecDeque::new();
    let begun = Instant::now();
    for first in (0..records).step_by(usize::try_from(batch)?) {
        let writes = (first..first + batch).map(|n| insert(n + 1, spread_ms, &mut noise)).collect();
        let asked = Instant::now();
        let commit = wait(shard.commit(Batch { now: Time::ZERO, writes }))?;
        writing.push(asked.elapsed().as_secs_f64() * 1000.0);
        under_way.push_back((asked, shard.durable(commit)));
        while under_way.len() > ahead {
            settle(&mut under_way, &mut waits)?;
        }
    }
    while !under_way.is_empty() {
        settle(&mut under_way, &mut waits)?;
    }
    let took = begun.elapsed().as_secs_f64();
    let usage = store.usage();
    writing.sort_by(f64::total_cmp);
    waits.sort_by(f64::total_cmp);
    let at = |share| share_of(&waits, share);
    println!(
        "{batch:>5}  {spread:<9}  {:<7}  {:>9.0}  {:>9.2}  {:>7.2}  {:>7.2}  {:>9.2}  {:>6}  {:>9}  {:>11}",
        if ahead == 0 { "in turn" } else { "ahead" },
        records as f64 / took,
        share_of(&writing, 0.5),
        at(0.5),
        at(0.99),
        at(1.0),
        syncs.load(std::sync::atomic::Ordering::Relaxed),
        usage.disk_bytes >> 20,
        usage.memory_bytes >> 20,
    );
    store.close()?;
    Ok(())
}

/// The value below which a share of some sorted values lies.
fn share_of(sorted: &[f64], share: f64) -> f64 {
    sorted.get((sorted.len() as f64 * share) as usize).or(sorted.last()).copied().unwrap_or(0.0)
}

fn settle<F>(under_way: &mut VecDeque<(Instant, F)>, waits: &mut Vec<f64>) -> Result<(), Box<dyn Error>>
where
    F: Future<Output = Result<punctual_store_api::Durable, punctual_store_api::StoreError>>,
{
    if let Some((asked, durable)) = under_way.pop_front() {
        let _ = wait(durable)?.commit();
        waits.push(asked.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(())
}

fn insert(seq: u64, spread_ms: u64, noise: &mut Noise) -> Write {
    let due = Time::from_unix_ms(1_700_000_000_000 + noise.next() % spread_ms).unwrap_or_default();
    let record: Bytes =
        std::iter::repeat_with(|| noise.next().to_le_bytes()).take(RECORD_BYTES / 8).flatten().collect();
    let timeline = TimelineId::main(TopicNumber(1), PartitionNumber(0));
    Write::Insert { timeline, position: Position::new(due, Seq(seq)), record }
}

/// xorshift64: noise that costs next to nothing.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
