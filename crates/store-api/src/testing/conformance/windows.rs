//! Windows and records.

use bytes::Bytes;
use punctual_types::{Lane, PartitionNumber, Position, Read, ReadReply, SubscriptionNumber, TopicNumber, Write};

use super::desk::{Desk, TIMELINE, at, insert, insert_on, read_one, records, time, value};
use crate::testing::{Harness, wait};

pub fn a_window_is_in_position_order_whatever_the_order_of_insertion<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(500, 1)), insert(at(100, 2))]);
    desk.commit(vec![insert(at(300, 3)), insert(at(100, 4)), insert(at(0, 5))]);
    assert_eq!(desk.everything(), [at(0, 5), at(100, 2), at(100, 4), at(300, 3), at(500, 1)]);
}

pub fn a_window_begins_after_its_first_bound_and_includes_its_last<H: Harness>() {
    let desk = Desk::<H>::new();
    let all = [at(10, 1), at(10, 2), at(20, 3), at(30, 4), at(30, 5)];
    desk.commit(all.map(insert).to_vec());
    for first in 0..all.len() {
        for last in first..all.len() {
            assert_eq!(desk.window(all[first], all[last]), all[first + 1..=last], "({first}, {last}]");
        }
    }
    assert_eq!(desk.window(Position::before(time(10)), Position::after(time(10))), all[..2]);
    assert_eq!(desk.window(Position::after(time(10)), Position::before(time(30))), all[2..3]);
}

pub fn an_empty_or_inverted_window_is_empty<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1)), insert(at(20, 2)), insert(at(30, 3))]);
    assert_eq!(desk.window(at(10, 1), at(10, 1)), []);
    assert_eq!(desk.window(at(30, 3), at(10, 1)), []);
    assert_eq!(desk.window(Position::MAX, Position::MIN), []);
    assert_eq!(desk.window(at(21, 0), at(29, 9)), []);
}

pub fn a_window_ends_at_its_limit<H: Harness>() {
    let desk = Desk::<H>::new();
    let all: Vec<Position> = (1..=10).map(|seq| at(seq * 10, seq)).collect();
    desk.commit(all.iter().copied().map(insert).collect());
    for limit in 1..=11 {
        let window = Read::Window {
            timeline: TIMELINE,
            after: at(20, 2),
            to: Position::MAX,
            limit,
            bytes_max: u64::MAX,
            values: true,
        };
        let found: Vec<Position> = records(desk.read(window)).into_iter().map(|record| record.position).collect();
        assert_eq!(found, all[2..(2 + limit as usize).min(10)], "limit {limit}");
    }
}

pub fn a_window_stops_after_the_record_that_reaches_its_bytes<H: Harness>() {
    let desk = Desk::<H>::new();
    let sized = |seq: u64, bytes: usize| Write::Insert {
        timeline: TIMELINE,
        position: at(seq, seq),
        record: Bytes::from(vec![1; bytes]),
    };
    desk.commit(vec![sized(1, 100), sized(2, 50), sized(3, 0), sized(4, 1), sized(5, 1000)]);
    for (bytes_max, count) in [(0, 1), (1, 1), (100, 1), (101, 2), (150, 2), (151, 4), (152, 5), (u64::MAX, 5)] {
        let window = Read::Window {
            timeline: TIMELINE,
            after: Position::MIN,
            to: Position::MAX,
            limit: 9,
            bytes_max,
            values: true,
        };
        assert_eq!(records(desk.read(window)).len(), count, "at most {bytes_max} bytes");
    }
}

pub fn a_window_of_positions_comes_without_values<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(1, 1)), insert(at(2, 2)), insert(at(3, 3))]);
    // Its bytes are those of the values answered, and there are none.
    let window = Read::Window {
        timeline: TIMELINE,
        after: Position::MIN,
        to: Position::MAX,
        limit: 9,
        bytes_max: 1,
        values: false,
    };
    let found = records(desk.read(window));
    assert_eq!(found.iter().map(|record| record.position).collect::<Vec<_>>(), [at(1, 1), at(2, 2), at(3, 3)]);
    assert!(found.iter().all(|record| record.value.is_empty()));
}

pub fn a_window_stays_within_its_timeline<H: Harness>() {
    let desk = Desk::<H>::new();
    let neighbours = [
        punctual_types::TimelineId { topic: TopicNumber(6), ..TIMELINE },
        punctual_types::TimelineId { topic: TopicNumber(8), ..TIMELINE },
        punctual_types::TimelineId { partition: PartitionNumber(0), ..TIMELINE },
        punctual_types::TimelineId { partition: PartitionNumber(2), ..TIMELINE },
        TIMELINE.lane(Lane::Priority(1)),
        TIMELINE.lane(Lane::Retry(SubscriptionNumber(0))),
        TIMELINE.lane(Lane::Expiry),
        TIMELINE.lane(Lane::Check),
    ];
    let mut writes = vec![insert(at(50, 1))];
    for (seq, timeline) in (2..).zip(neighbours) {
        writes.push(insert_on(timeline, at(50, seq)));
    }
    desk.commit(writes);
    assert_eq!(desk.everything(), [at(50, 1)]);
    assert_eq!(desk.record(at(50, 2)), None);
    assert_eq!(desk.count(Position::MIN, Position::MAX, 60_000), [(0, 1)]);
    for (seq, timeline) in (2..).zip(neighbours) {
        let record = Read::Record { timeline, position: at(50, seq) };
        assert_eq!(desk.read(record), ReadReply::Record(Some(value(at(50, seq)))), "{timeline:?}");
    }
}

pub fn a_window_stays_within_its_shard<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(50, 1))]);
    for number in [0, 2] {
        let other = desk.other(number);
        let window = Read::Window {
            timeline: TIMELINE,
            after: Position::MIN,
            to: Position::MAX,
            limit: 9,
            bytes_max: u64::MAX,
            values: true,
        };
        assert_eq!(records(read_one(&*other, window)), [], "shard {number}");
        assert_eq!(
            read_one(&*other, Read::Record { timeline: TIMELINE, position: at(50, 1) }),
            ReadReply::Record(None)
        );
    }
}

pub fn a_timeline_reaches_from_the_first_millisecond_to_the_last<H: Harness>() {
    let desk = Desk::<H>::new();
    let first = at(0, 1);
    let last = Position::new(punctual_types::Time::MAX, punctual_types::Seq(u64::MAX - 1));
    desk.commit(vec![insert(last), insert(first)]);
    assert_eq!(desk.everything(), [first, last]);
    assert_eq!(desk.record(last), Some(value(last)));
    assert_eq!(desk.offset_of(last), Some(1));
}

pub fn a_record_comes_back_byte_for_byte<H: Harness>() {
    let desk = Desk::<H>::new();
    let all_bytes: Vec<u8> = (0..=255).collect();
    let bodies: [Vec<u8>; 4] = [vec![], vec![0], all_bytes, (0..1 << 20).map(|byte: u32| (byte * 31) as u8).collect()];
    for (seq, body) in (1..).zip(&bodies) {
        let record = Bytes::from(body.clone());
        desk.commit(vec![Write::Insert { timeline: TIMELINE, position: at(9, seq), record }]);
    }
    let desk = desk.reopen();
    for (seq, body) in (1..).zip(&bodies) {
        assert_eq!(desk.record(at(9, seq)).as_deref(), Some(body.as_slice()), "record {seq}");
    }
}

pub fn a_record_is_found_at_its_own_position_only<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(50, 7))]);
    assert_eq!(desk.record(at(50, 7)), Some(value(at(50, 7))));
    for beside in [at(50, 6), at(50, 8), at(49, 7), at(51, 7), Position::MIN, Position::MAX] {
        assert_eq!(desk.record(beside), None, "{beside:?}");
    }
}

pub fn reads_are_answered_in_the_order_asked<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(1, 1)), insert(at(2, 2))]);
    let reads = vec![
        Read::OffsetOf { timeline: TIMELINE, position: at(2, 2) },
        Read::Record { timeline: TIMELINE, position: at(1, 1) },
        Read::Count { timeline: TIMELINE, after: Position::MIN, to: Position::MAX, bucket_ms: 60_000 },
        Read::Record { timeline: TIMELINE, position: at(2, 2) },
        Read::Lookup(super::desk::place(1)),
        Read::Record { timeline: TIMELINE, position: at(3, 3) },
    ];
    let replies = wait(desk.shard.read(reads)).expect("answered");
    assert_eq!(
        replies,
        [
            ReadReply::Offset(Some(punctual_types::Offset(1))),
            ReadReply::Record(Some(value(at(1, 1)))),
            ReadReply::Counts(vec![punctual_types::Counted { from: time(0), count: 2 }]),
            ReadReply::Record(Some(value(at(2, 2)))),
            ReadReply::Entry(None),
            ReadReply::Record(None),
        ]
    );
    assert_eq!(wait(desk.shard.read(vec![])).expect("answered"), []);
}
