//! What is written is what is read.

use bytes::Bytes;
use punctual_types::{
    Batch, IndexEntry, IndexKind, IndexPlace, Lane, Mark, Offset, PartitionNumber, Position, Seq, Time, TimelineId,
    TopicNumber, Write,
};

use super::{Extent, Step, Steps, encode};

const MAIN: TimelineId = TimelineId::main(TopicNumber(0x0102_0304), PartitionNumber(0x0506));

fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("in range")
}

fn at(due: u64, seq: u64) -> Position {
    Position::new(time(due), Seq(seq))
}

fn entry() -> (IndexPlace, IndexEntry) {
    let place =
        IndexPlace { index: IndexKind::Dedup, topic: TopicNumber(9), partition: PartitionNumber(8), hash: [7; 16] };
    let entry =
        IndexEntry { priority: 3, first: at(1, 2), position: at(3, 4), outcome: 5, at: time(6), expires_at: Time::MAX };
    (place, entry)
}

/// A batch with every kind of write.
fn batch() -> Batch {
    let (place, entry) = entry();
    let mark = Mark { offset: Offset(11), position: at(12, 13) };
    let (timeline, retry) = (MAIN, MAIN.lane(Lane::Check));
    let writes = vec![
        Write::Insert { timeline, position: at(0x0a0b, 0x0c), record: Bytes::from_static(b"record") },
        Write::Insert { timeline, position: Position::MAX, record: Bytes::new() },
        Write::Remove { timeline: retry, position: at(5, 6) },
        Write::RemoveRange { timeline: retry, after: at(1, 2), to: at(3, 4), seq_max: Seq(9) },
        Write::Anchor { timeline, mark },
        Write::RaiseFloor { timeline, mark },
        Write::PutIndex { place, entry },
        Write::SetState { key: Bytes::from_static(b"key"), value: Some(Bytes::from_static(b"value")) },
        Write::SetState { key: Bytes::new(), value: None },
    ];
    Batch { now: time(0x77), writes }
}

fn encoded(batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(batch, &mut bytes);
    bytes
}

#[test]
fn a_batch_comes_back_step_by_step() {
    let bytes = encoded(&batch());
    let (now, steps) = Steps::of(&bytes).expect("a batch");
    let steps: Vec<Step<'_>> = steps.collect::<Result<_, _>>().expect("steps");
    assert_eq!(now, time(0x77));
    let (place, entry) = entry();
    let mark = Mark { offset: Offset(11), position: at(12, 13) };
    let (timeline, retry) = (MAIN, MAIN.lane(Lane::Check));
    let Step::Insert { record, .. } = steps[0] else { panic!("an insert") };
    assert_eq!(&bytes[record.at as usize..][..record.len as usize], b"record");
    let empty = Extent { at: record.at + 6 + 23, len: 0 };
    assert_eq!(
        steps,
        [
            Step::Insert { timeline, position: at(0x0a0b, 0x0c), record },
            Step::Insert { timeline, position: Position::MAX, record: empty },
            Step::Remove { timeline: retry, position: at(5, 6) },
            Step::RemoveRange { timeline: retry, after: at(1, 2), to: at(3, 4), seq_max: Seq(9) },
            Step::Anchor { timeline, mark },
            Step::RaiseFloor { timeline, mark },
            Step::PutIndex { place, entry },
            Step::SetState { key: b"key", value: Some(b"value") },
            Step::SetState { key: b"", value: None },
        ]
    );
}

#[test]
fn a_batch_has_the_bytes_that_the_formats_page_gives() {
    let mut batch = batch();
    batch.writes.truncate(1);
    let expected = [
        &[0, 0, 0, 0, 0, 0, 0, 0x77][..],
        &[1, 1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 0],
        &[2, 0, 0, 0, 0, 0x0a, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0x0c, 0, 0, 0, 6],
        &crc32c::crc32c(b"record").to_be_bytes(),
        b"record",
    ];
    assert_eq!(encoded(&batch), expected.concat());
}

#[test]
fn bytes_that_are_cut_off_or_no_batch_are_refused_and_never_panic() {
    let bytes = encoded(&batch());
    let mut whole = 0;
    for cut in 0..bytes.len() {
        let steps = Steps::of(&bytes[..cut]).map(|(_, steps)| steps.collect::<Result<Vec<_>, _>>());
        // Cut between two steps it is a shorter batch: that is for the journal's check to find.
        whole += usize::from(matches!(steps, Ok(Ok(_))));
    }
    assert!(whole <= batch().writes.len() + 1, "{whole} cuts passed");
    for (at, byte) in [(7 + 1, 0), (7 + 1, 10), (0, 0xff), (8 + 7, 9)] {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        let refused = match Steps::of(&bytes) {
            Err(_) => true,
            Ok((_, mut steps)) => steps.any(|step| step.is_err()),
        };
        assert!(refused, "byte {at} = {byte}");
    }
}
