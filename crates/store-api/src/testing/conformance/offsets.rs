//! Floors, anchors and offsets.

use punctual_types::{Position, Read};

use super::desk::{Desk, TIMELINE, anchor, at, floor, insert, insert_on, mark, read_one, records, remove};
use crate::testing::Harness;

fn line(count: u64) -> Vec<Position> {
    // Three records in each millisecond, so that offsets must count sequence numbers too.
    (0..count).map(|n| at(100 + n / 3, n + 1)).collect()
}

pub fn a_floor_hides_what_lies_at_or_before_it<H: Harness>() {
    let desk = Desk::<H>::new();
    let all = line(9);
    desk.commit(all.iter().copied().map(insert).collect());
    desk.commit(vec![floor(4, all[3])]);
    assert_eq!(desk.everything(), all[4..]);
    assert_eq!(desk.window(all[1], all[6]), all[4..=6]);
    assert_eq!(desk.window(Position::MIN, all[3]), []);
    for hidden in &all[..=3] {
        assert_eq!(desk.record(*hidden), None);
        assert_eq!(desk.offset_of(*hidden), None);
    }
    assert_eq!(desk.count(Position::MIN, Position::MAX, 60_000), [(0, 5)]);
    assert_eq!(desk.at_offset(4, 2), all[4..6]);
}

pub fn a_floor_may_stand_where_no_record_is<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1)), insert(at(20, 2)), floor(1, Position::after(at(15, 0).due))]);
    assert_eq!(desk.everything(), [at(20, 2)]);
    assert_eq!(desk.offset_of(at(20, 2)), Some(1));
    assert_eq!(desk.at_offset(1, 9), [at(20, 2)]);
}

pub fn a_floor_never_sinks<H: Harness>() {
    let desk = Desk::<H>::new();
    let all = line(6);
    desk.commit(all.iter().copied().map(insert).collect());
    desk.commit(vec![floor(4, all[3])]);
    desk.commit(vec![floor(2, all[1])]);
    assert_eq!(desk.everything(), all[4..]);
    assert_eq!(desk.offset_of(all[5]), Some(5));
    let desk = desk.reopen();
    assert_eq!(desk.everything(), all[4..]);
    assert_eq!(desk.offset_of(all[5]), Some(5));
}

pub fn a_floor_leaves_other_timelines_and_shards_alone<H: Harness>() {
    let desk = Desk::<H>::new();
    let lane = TIMELINE.lane(punctual_types::Lane::Expiry);
    desk.commit(vec![insert(at(10, 1)), insert_on(lane, at(10, 2)), floor(1, at(10, 1))]);
    let other = desk.other(2);
    let batch = punctual_types::Batch { writes: vec![insert(at(10, 1))], ..Default::default() };
    crate::testing::wait(other.commit(batch)).expect("written");
    let window = |timeline| Read::Window {
        timeline,
        after: Position::MIN,
        to: Position::MAX,
        limit: 9,
        bytes_max: u64::MAX,
        values: true,
    };
    assert_eq!(desk.everything(), []);
    assert_eq!(records(desk.read(window(lane))).len(), 1);
    assert_eq!(records(read_one(&*other, window(TIMELINE))).len(), 1);
}

pub fn offsets_count_from_zero_where_there_is_no_mark<H: Harness>() {
    let desk = Desk::<H>::new();
    let all = line(20);
    desk.commit(all.iter().copied().map(insert).collect());
    check_offsets(&desk, &all, 0);
}

pub fn floors_and_anchors_count_the_same_offsets<H: Harness>() {
    let desk = Desk::<H>::new();
    let all = line(40);
    desk.commit(all.iter().copied().map(insert).collect());
    check_offsets(&desk, &all, 0);
    desk.commit(vec![anchor(8, all[7]), anchor(16, all[15])]);
    check_offsets(&desk, &all, 0);
    // An anchor may stand between two records, where the line stood.
    desk.commit(vec![anchor(27, Position::after(all[26].due)), anchor(32, all[31])]);
    check_offsets(&desk, &all, 0);
    for passed in [1, 8, 9, 20, 27, 33] {
        desk.commit(vec![floor(passed, all[passed as usize - 1])]);
        check_offsets(&desk, &all, passed);
    }
    let desk = desk.reopen();
    check_offsets(&desk, &all, 33);
    desk.commit(vec![floor(40, all[39])]);
    assert_eq!(desk.everything(), []);
}

fn check_offsets<H: Harness>(desk: &Desk<H>, all: &[Position], floor: u64) {
    for (offset, position) in (0..).zip(all) {
        let expected = (offset >= floor).then_some(offset);
        assert_eq!(desk.offset_of(*position), expected, "offset of {position:?} above {floor}");
        if offset >= floor {
            let until = (offset as usize + 3).min(all.len());
            assert_eq!(desk.at_offset(offset, 3), all[offset as usize..until], "at {offset} above {floor}");
        }
    }
}

pub fn an_offset_is_of_a_record_and_not_of_a_gap<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1)), insert(at(20, 2)), insert(at(30, 3)), remove(at(20, 2)), anchor(1, at(10, 1))]);
    assert_eq!(desk.offset_of(at(10, 1)), Some(0));
    assert_eq!(desk.offset_of(at(20, 2)), None);
    assert_eq!(desk.offset_of(at(30, 3)), Some(1));
    assert_eq!(desk.offset_of(at(15, 0)), None);
    assert_eq!(desk.offset_of(Position::MAX), None);
}

pub fn offsets_past_the_last_record_give_nothing<H: Harness>() {
    let desk = Desk::<H>::new();
    assert_eq!(desk.at_offset(0, 9), []);
    let all = line(3);
    desk.commit(all.iter().copied().map(insert).collect());
    assert_eq!(desk.at_offset(2, 9), all[2..]);
    assert_eq!(desk.at_offset(3, 9), []);
    assert_eq!(desk.at_offset(u64::MAX, 9), []);
}

pub fn a_mark_written_with_the_records_it_passes_counts_them<H: Harness>() {
    let desk = Desk::<H>::new();
    let all = line(6);
    let mut writes: Vec<_> = all.iter().copied().map(insert).collect();
    writes.push(anchor(4, all[3]));
    writes.push(floor(2, all[1]));
    desk.commit(writes);
    assert_eq!(mark(2, all[1]).position, all[1]);
    check_offsets(&desk, &all, 2);
}
