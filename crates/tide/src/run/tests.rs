//! A run against the records that were put into it.

use std::collections::BTreeMap;

use punctual_types::{PartitionNumber, Time, TopicNumber};

use super::*;
use crate::{
    limits::{RUN_BLOCK_BYTES, RUN_WRITE_BYTES},
    vfs::SimulatedDisk,
};

const MAIN: TimelineId = TimelineId::main(TopicNumber(1), PartitionNumber(0));

fn at(due: u64, seq: u64) -> Position {
    Position::new(Time::from_unix_ms(due).expect("in range"), Seq(seq))
}

fn span(after: Position, to: Position) -> Span {
    Span { after, to }
}

fn value(position: Position) -> Vec<u8> {
    vec![position.seq.0 as u8; position.seq.0 as usize % 300]
}

fn other() -> TimelineId {
    TimelineId { partition: PartitionNumber(3), ..MAIN }
}

/// Positions of which each run has every `of`-th.
fn positions(of: u64, which: u64) -> Vec<Position> {
    (1..=900).filter(|n| n % of == which).map(|n| at(n * 17 / 10, 1 + n / of + which * 1_000)).collect()
}

fn run(disk: &SimulatedDisk, number: u32, positions: &[Position]) -> Arc<Run> {
    let mut writer = RunWriter::create(disk, RunNumber(number)).expect("made");
    for shard in [ShardNumber(0), ShardNumber(2)] {
        for timeline in [MAIN, other()] {
            for position in positions {
                writer.put(shard, timeline, *position, &value(*position)).expect("written");
            }
        }
    }
    writer.finish(disk).expect("finished").expect("not empty")
}

fn slice(runs: Vec<Arc<Run>>, removed: Removed) -> Slice {
    Slice { shard: ShardNumber(2), timeline: MAIN, runs: runs.into(), removed: Arc::new(removed) }
}

fn walked(slice: &Slice, within: Span) -> Vec<Position> {
    let mut records = slice.records(within);
    let mut found = Vec::new();
    while let Some(record) = records.next().expect("read") {
        assert_eq!(record.value, value(record.position));
        found.push(record.position);
    }
    found
}

#[test]
fn two_runs_are_read_as_one_without_what_was_removed() {
    let disk = SimulatedDisk::default();
    let runs = vec![run(&disk, 1, &positions(3, 0)), run(&disk, 2, &positions(3, 1))];
    let mut all = [positions(3, 0), positions(3, 1)].concat();
    all.sort_unstable();
    let mut removed = Removed::default();
    removed.remove(all[100]);
    removed.remove_range(span(all[200], all[220]), Seq(1_000));
    all.retain(|position| !removed.has(*position));
    let slice = slice(runs, removed);
    let everything = span(Position::MIN, Position::MAX);
    assert_eq!(walked(&slice, everything), all);
    for (first, last) in [(0, 5), (98, 102), (150, 400), (7, 7), (9, 3)] {
        let within = span(all[first], all[last]);
        let expected: Vec<Position> = all.iter().copied().filter(|position| within.contains(*position)).collect();
        assert_eq!(walked(&slice, within), expected, "({first}, {last}]");
        assert_eq!(slice.count(within).expect("counted"), expected.len() as u64);
    }
    for position in positions(1, 0) {
        let expected = all.contains(&position).then(|| Bytes::from(value(position)));
        assert_eq!(slice.record(position).expect("read"), expected, "{position:?}");
    }
    let mut counts = BTreeMap::new();
    for position in &all {
        *counts.entry(position.due.unix_ms() / 100 * 100).or_default() += 1_u64;
    }
    assert_eq!(slice.count_by(everything, 100).expect("counted"), counts);
}

#[test]
fn blocks_end_at_their_bound_and_a_long_run_is_written_in_pieces() {
    let disk = SimulatedDisk::default();
    let mut writer = RunWriter::create(&disk, RunNumber(1)).expect("made");
    let count = 3 * RUN_WRITE_BYTES as u64 / 1_000;
    for seq in 1..=count {
        writer.put(ShardNumber(2), MAIN, at(seq, seq), &[seq as u8; 1_000]).expect("written");
    }
    let run = writer.finish(&disk).expect("finished").expect("not empty");
    let blocks = run.blocks(ShardNumber(2), MAIN);
    assert!(blocks.iter().all(|block| (block.bytes as usize) < RUN_BLOCK_BYTES + 1_018));
    assert!(blocks.len() as u64 <= count * 1_018 / RUN_BLOCK_BYTES as u64 + 1, "{} blocks", blocks.len());
    assert!(run.bytes as usize > 2 * RUN_WRITE_BYTES);
    let slice = slice(vec![run], Removed::default());
    assert_eq!(slice.count(span(Position::MIN, Position::MAX)).expect("counted"), count);
    assert_eq!(slice.record(at(count, count)).expect("read").expect("there"), vec![count as u8; 1_000]);
}

#[test]
fn a_run_without_a_record_leaves_nothing_behind() {
    let disk = SimulatedDisk::default();
    let writer = RunWriter::create(&disk, RunNumber(1)).expect("made");
    assert!(writer.finish(&disk).expect("finished").is_none());
    assert_eq!(disk.list().expect("listed").len(), 0);
}

#[test]
fn a_flipped_bit_anywhere_in_a_run_is_found_when_it_is_opened_or_read() {
    let disk = SimulatedDisk::default();
    let run = run(&disk, 1, &positions(90, 0));
    let name = RunNumber(1).file_name();
    let everything = span(Position::MIN, Position::MAX);
    let mut found = 0;
    for bit in 0..run.bytes * 8 {
        disk.flip(&name, bit);
        let read = Run::open(&disk, RunNumber(1)).and_then(|run| {
            for shard in [ShardNumber(0), ShardNumber(2)] {
                for timeline in [MAIN, other()] {
                    let slice = Slice { shard, timeline, ..slice(vec![run.clone()], Removed::default()) };
                    let mut records = slice.records(everything);
                    while records.next()?.is_some() {}
                }
            }
            Ok(())
        });
        found += u64::from(matches!(read, Err(StoreError::Corrupt { .. })));
        disk.flip(&name, bit);
    }
    assert_eq!(found, run.bytes * 8);
}

#[test]
fn a_run_that_is_cut_off_anywhere_is_refused() {
    let disk = SimulatedDisk::default();
    run(&disk, 1, &positions(90, 0));
    let name = RunNumber(1).file_name();
    let bytes = disk.contents(&name).expect("there");
    for cut in 0..bytes.len() {
        disk.replace(&name, bytes[..cut].to_vec());
        let refused = Run::open(&disk, RunNumber(1)).err();
        assert!(matches!(refused, Some(StoreError::Corrupt { .. })), "cut at {cut}");
    }
}
