//! What a journal survives: cuts at every byte, noise, flipped bits, power cuts, failing calls.

use std::sync::Arc;

use punctual_store_api::StoreError;
use punctual_types::{CommitNumber, ShardNumber};

use super::*;
use crate::vfs::{Fault, SimulatedDisk};

const SECRET: [u8; 16] = *b"0123456789abcdef";
const SIZES: Sizes = Sizes { segment_bytes: 64 << 10, recent_bytes_max: 1 << 10 };
const SMALL: Sizes = Sizes { segment_bytes: 1 << 10, recent_bytes_max: 1 << 10 };

/// The payload of the n-th batch: of many lengths, none like another.
fn payload(n: u64) -> Vec<u8> {
    (0..n * 37 % 150).map(|byte| (byte * 31 + n * 7) as u8).collect()
}

fn shard(n: u64) -> ShardNumber {
    ShardNumber((n % 3) as u16)
}

/// Opens the journal and checks that it holds batches 1 to n, each as it was written. Gives n, and
/// whether the journal was torn.
fn open(disk: &SimulatedDisk, sizes: Sizes) -> Result<(Journal, u64, bool), StoreError> {
    let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
    let mut count = 0;
    let recovery = Recovery::open(&vfs, SECRET, sizes, Start::default(), &mut |found| {
        count += 1;
        assert_eq!((found.shard, found.payload), (shard(count), &*payload(count)), "batch {count}");
        Ok(())
    })?;
    assert_eq!(recovery.batches, count);
    assert_eq!((recovery.journal.written().0, recovery.journal.durable().0), (count, count));
    Ok((recovery.journal, count, recovery.torn.is_some()))
}

fn opened(disk: &SimulatedDisk, sizes: Sizes) -> (Journal, u64) {
    let (journal, count, _) = open(disk, sizes).expect("opens");
    (journal, count)
}

fn append(journal: &Journal, n: u64) -> Result<Appended, StoreError> {
    journal.append(shard(n), Draft::with(|bytes| bytes.extend_from_slice(&payload(n))))
}

/// A disk with a journal of so many batches, all synced and marked so, and the file that holds them.
fn written(batches: u64) -> (SimulatedDisk, String) {
    let disk = SimulatedDisk::default();
    let (journal, _) = opened(&disk, SIZES);
    for n in 1..=batches {
        assert_eq!(append(&journal, n).expect("written").commit, CommitNumber(n));
    }
    journal.sync().expect("synced");
    (disk, SegmentNumber(1).file_name())
}

#[test]
fn batches_come_back_in_order_over_many_segments_and_openings() {
    let disk = SimulatedDisk::default();
    let mut count = 0;
    for _ in 0..5 {
        let (journal, found) = opened(&disk, SMALL);
        assert_eq!(found, count);
        for _ in 0..40 {
            count += 1;
            append(&journal, count).expect("written");
            if count % 7 == 0 {
                journal.prepare().expect("made");
            }
            if count % 5 == 0 {
                assert_eq!(journal.sync().expect("synced"), CommitNumber(count));
                journal.mark().expect("marked");
            }
        }
    }
    assert!(disk.list().expect("listed").len() > 10, "many segments");
}

#[test]
fn openings_that_write_nothing_leave_no_more_files_behind() {
    let (disk, _) = written(3);
    for _ in 0..5 {
        let (journal, _) = opened(&disk, SIZES);
        journal.sync().expect("synced");
        journal.mark().expect("marked");
    }
    assert_eq!(disk.list().expect("listed").len(), 2, "the batches' and the present one");
}

#[test]
fn a_batch_larger_than_a_segment_gets_one_of_its_own() {
    let disk = SimulatedDisk::default();
    let (journal, _) = opened(&disk, SMALL);
    let large = vec![7; 5000];
    append(&journal, 1).expect("written");
    journal.prepare().expect("made");
    let appended = journal.append(ShardNumber(9), Draft::with(|to| to.extend_from_slice(&large))).expect("written");
    assert_eq!(appended.payload, large);
    let mut sizes = Vec::new();
    let vfs: Arc<dyn Vfs> = Arc::new(disk);
    Recovery::open(&vfs, SECRET, SMALL, Start::default(), &mut |found| {
        sizes.push(found.payload.len());
        Ok(())
    })
    .expect("opens");
    assert_eq!(sizes, [payload(1).len(), 5000]);
}

#[test]
fn a_batch_of_the_most_bytes_has_its_place_in_a_segment() {
    assert!(Draft::may_have(limits::JOURNAL_BATCH_BYTES_MAX));
    assert!(!Draft::may_have(limits::JOURNAL_BATCH_BYTES_MAX + 1));
    let segment = SEGMENT_HEADER_BYTES + frame_bytes(limits::JOURNAL_BATCH_BYTES_MAX);
    assert!(u32::try_from(segment).is_ok(), "places in a segment have 32 bits");
}

#[test]
fn a_log_cut_at_every_byte_keeps_the_longest_whole_prefix() {
    let (disk, name) = written(256);
    let bytes = disk.contents(&name).expect("there");
    let mut ends = Vec::new();
    let mut at = SEGMENT_HEADER_BYTES;
    for n in 1..=256 {
        at += frame_bytes(payload(n).len());
        ends.push(at);
    }
    for cut in 0..=at {
        let disk = SimulatedDisk::default();
        disk.replace(&name, bytes[..cut].to_vec());
        let (_, found) = opened(&disk, SIZES);
        // The padding after a payload says nothing and may be missing.
        let whole = ends.partition_point(|end| *end <= cut.next_multiple_of(8)) as u64;
        let least = ends.partition_point(|end| *end <= cut) as u64;
        assert!((least..=whole).contains(&found), "cut at {cut}: {found} of {least} to {whole}");
    }
}

#[test]
fn a_tail_of_zeros_noise_or_older_bytes_is_cut_off() {
    let (disk, name) = written(20);
    let bytes = disk.contents(&name).expect("there");
    let end = SEGMENT_HEADER_BYTES + (1..=20).map(|n| frame_bytes(payload(n).len())).sum::<usize>();
    // The same frames as another segment's number would have left them in a recycled file.
    let older = {
        let disk = SimulatedDisk::default();
        let (journal, _) = opened(&disk, SIZES);
        drop(journal);
        let (journal, _) = opened(&disk, SIZES);
        for n in 1..=20 {
            append(&journal, n).expect("written");
        }
        journal.sync().expect("synced");
        append(&journal, 21).expect("written");
        disk.contents(&SegmentNumber(2).file_name()).expect("there")
    };
    for cut in [end, end - 8, end - 50, end - 500, SEGMENT_HEADER_BYTES] {
        for (tail, is_torn) in [
            // Zeros are what a reserved file begins with: no sign of anything that was written.
            (vec![0; bytes.len() - cut], false),
            ((cut..bytes.len()).map(|at| (at * 7919 % 251) as u8).collect(), true),
            (older[cut..].to_vec(), true),
        ] {
            let disk = SimulatedDisk::default();
            disk.replace(&name, [&bytes[..cut], &tail].concat());
            let (journal, found, torn) = open(&disk, SIZES).expect("opens");
            assert!(found <= 20, "cut at {cut}: nothing of another segment is taken");
            assert!(torn || !is_torn, "cut at {cut}: told");
            append(&journal, found + 1).expect("written");
            drop(journal);
            assert_eq!(opened(&disk, SIZES).1, found + 1, "cut at {cut}: and goes on from there");
        }
    }
}

#[test]
fn a_flipped_bit_in_what_is_known_to_be_durable_is_found_and_refused() {
    let (disk, name) = written(12);
    let (journal, _) = opened(&disk, SIZES);
    append(&journal, 13).expect("written");
    drop(journal);
    // The thirteenth says that the twelve before it are durable.
    let end = SEGMENT_HEADER_BYTES + (1..=12).map(|n| frame_bytes(payload(n).len())).sum::<usize>();
    let before = disk.contents(&name).expect("there");
    for bit in 0..end as u64 * 8 {
        disk.flip(&name, bit);
        match open(&disk, SIZES) {
            Err(StoreError::Corrupt { what, .. }) => assert_eq!(what, name, "bit {bit}"),
            Err(other) => panic!("bit {bit}: {other}"),
            // Unused bytes: the padding of payloads.
            Ok((_, found, _)) => assert_eq!(found, 13, "bit {bit}"),
        }
        disk.replace(&name, before.clone());
    }
}

#[test]
fn a_mark_tells_damage_of_the_last_batches_before_a_clean_close() {
    let (disk, name) = written(0);
    let (journal, _) = opened(&disk, SIZES);
    drop(disk.remove(&name));
    for n in 1..=5 {
        append(&journal, n).expect("written");
    }
    journal.sync().expect("synced");
    journal.mark().expect("marked");
    let name = SegmentNumber(2).file_name();
    let bit = (SEGMENT_HEADER_BYTES + frame_bytes(payload(1).len()) + 9) as u64 * 8;
    disk.flip(&name, bit);
    assert!(matches!(open(&disk, SIZES), Err(StoreError::Corrupt { .. })), "refused");
    disk.flip(&name, bit);
    assert_eq!(opened(&disk, SIZES).1, 5, "and left as it was");
}

#[test]
fn a_frame_that_does_not_continue_the_chain_is_not_taken() {
    // The same numbers and lengths in the same place, of another past.
    let bytes_of = |filling: u8| {
        let disk = SimulatedDisk::default();
        let (journal, _) = opened(&disk, SIZES);
        for _ in 1..=5 {
            journal.append(ShardNumber(0), Draft::with(|to| to.resize(to.len() + 64, filling))).expect("written");
        }
        disk.contents(&SegmentNumber(1).file_name()).expect("there")
    };
    let (mut bytes, other) = (bytes_of(1), bytes_of(2));
    let third = SEGMENT_HEADER_BYTES + 2 * frame_bytes(64)..SEGMENT_HEADER_BYTES + 3 * frame_bytes(64);
    bytes[third.clone()].copy_from_slice(&other[third]);
    let disk = SimulatedDisk::default();
    disk.replace(&SegmentNumber(1).file_name(), bytes);
    let vfs: Arc<dyn Vfs> = Arc::new(disk);
    let mut found = Vec::new();
    let recovery = Recovery::open(&vfs, SECRET, SIZES, Start::default(), &mut |batch| {
        found.push(batch.payload.to_vec());
        Ok(())
    });
    assert_eq!((found, recovery.expect("opens").batches), (vec![vec![1; 64]; 2], 2));
}

#[test]
fn a_segment_that_is_gone_is_refused() {
    let disk = SimulatedDisk::default();
    let (journal, _) = opened(&disk, SMALL);
    for n in 1..=60 {
        append(&journal, n).expect("written");
        journal.sync().expect("synced");
    }
    drop(journal);
    disk.remove(&SegmentNumber(2).file_name()).expect("removed");
    assert!(matches!(open(&disk, SMALL), Err(StoreError::Corrupt { .. })));
}

/// Writes until the power goes, with a sync now and then; gives what was written and durable.
fn write_until_power_goes(disk: &SimulatedDisk) -> (u64, u64) {
    let Ok((journal, mut written, _)) = open(disk, SMALL) else { return (0, 0) };
    let mut durable = written;
    for step in 0.. {
        let done = match step % 5 {
            3 => journal.sync().map(|commit| durable = commit.0),
            4 => journal.prepare().and_then(|()| journal.mark()),
            _ => append(&journal, written + 1).map(|_| written += 1),
        };
        if done.is_err() || written >= 60 {
            break;
        }
    }
    (written, durable)
}

#[test]
fn a_power_cut_at_every_change_loses_nothing_durable_and_tears_no_batch() {
    let mut torn = 0;
    for k in 1.. {
        for seed in 0..12 {
            let disk = SimulatedDisk::default();
            let (mut written, mut durable) = (0, 0);
            // Twice, so that what a recovery leaves behind is cut off as well.
            for life in 0..2 {
                disk.plan(Fault::PowerCut(k));
                let (now_written, now_durable) = write_until_power_goes(&disk);
                written = now_written.max(written);
                durable = now_durable.max(durable);
                disk.cut_power();
                disk.crash(seed * 2 + life);
                let (_, found, is_torn) = open(&disk, SMALL).unwrap_or_else(|error| panic!("{k}/{seed}: {error}"));
                // One more may be there: its write was under way when the power went.
                assert!((durable..=written + 1).contains(&found), "{k}/{seed}: {durable} <= {found} <= {written}");
                torn += u64::from(is_torn);
                (written, durable) = (found, found);
            }
        }
        let disk = SimulatedDisk::default();
        write_until_power_goes(&disk);
        if disk.changes() < k {
            break;
        }
    }
    assert!(torn > 20, "journals were torn: {torn}");
}

#[test]
fn any_one_call_that_fails_is_told_and_what_was_durable_before_it_stays() {
    for k in 1..200 {
        let disk = SimulatedDisk::default();
        disk.plan(Fault::FailOnce(k));
        let (written, durable) = write_until_power_goes(&disk);
        disk.cut_power();
        disk.crash(k);
        let (_, found) = opened(&disk, SMALL);
        assert!((durable..=written + 1).contains(&found), "{k}: {durable} <= {found} <= {written}");
    }
}

#[test]
fn a_record_that_is_no_longer_in_memory_is_read_from_its_file_and_checked() {
    let disk = SimulatedDisk::default();
    let (journal, _) = opened(&disk, SIZES);
    let record = vec![0xab; 700];
    let draft = || {
        Draft::with(|to| {
            to.extend_from_slice(&crc32c::crc32c(&record).to_be_bytes());
            to.extend_from_slice(&record);
        })
    };
    let first = journal.append(ShardNumber(0), draft()).expect("written");
    journal.append(ShardNumber(0), draft()).expect("written");
    assert!(journal.recent_bytes() <= SIZES.recent_bytes_max);
    let location = Location { at: first.location.at + 4, len: 700, ..first.location };
    assert_eq!(journal.record(location).expect("read").expect("there"), record);
    disk.flip(&location.segment.file_name(), u64::from(location.at) * 8 + 99);
    assert!(matches!(journal.record(location), Err(StoreError::Corrupt { .. })), "checked");
}

#[test]
fn a_full_disk_refuses_a_segment_and_not_the_batches_that_have_room() {
    let disk = SimulatedDisk::default();
    let (journal, _) = opened(&disk, SMALL);
    disk.set_capacity(SMALL.segment_bytes);
    append(&journal, 1).expect("there is room in the segment");
    let refused = (2..).find_map(|n| append(&journal, n).err()).expect("the segment fills up");
    assert!(refused.to_string().contains("making"), "{refused}");
}
