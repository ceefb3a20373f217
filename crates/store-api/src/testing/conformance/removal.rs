//! Removing what lies ahead of the line.

use punctual_types::Position;

use super::desk::{Desk, at, insert, remove, remove_range, time};
use crate::testing::Harness;

pub fn a_removed_record_is_gone_for_good<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1)), insert(at(20, 2)), insert(at(30, 3))]);
    desk.commit(vec![remove(at(20, 2))]);
    assert_eq!(desk.record(at(20, 2)), None);
    assert_eq!(desk.everything(), [at(10, 1), at(30, 3)]);
    assert_eq!(desk.offset_of(at(30, 3)), Some(1));
    let desk = desk.reopen();
    assert_eq!(desk.record(at(20, 2)), None);
    assert_eq!(desk.everything(), [at(10, 1), at(30, 3)]);
}

pub fn removing_what_is_not_there_changes_nothing<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1))]);
    desk.commit(vec![remove(at(10, 2)), remove(at(11, 1)), remove_range(at(20, 0), at(30, 9), 99)]);
    assert_eq!(desk.everything(), [at(10, 1)]);
}

pub fn a_range_removal_spares_its_first_bound_and_takes_its_last<H: Harness>() {
    let all = [at(10, 1), at(20, 2), at(20, 3), at(30, 4), at(40, 5)];
    for first in 0..all.len() {
        for last in first..all.len() {
            let desk = Desk::<H>::new();
            desk.commit(all.map(insert).to_vec());
            desk.commit(vec![remove_range(all[first], all[last], 99)]);
            let left: Vec<Position> =
                all.into_iter().filter(|position| *position <= all[first] || *position > all[last]).collect();
            assert_eq!(desk.everything(), left, "({first}, {last}]");
            if first > 1 {
                break;
            }
        }
    }
}

pub fn a_range_removal_spares_later_sequence_numbers<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(20, 1)), insert(at(10, 2)), insert(at(20, 3)), insert(at(15, 4))]);
    desk.commit(vec![remove_range(Position::MIN, Position::after(time(20)), 2)]);
    assert_eq!(desk.everything(), [at(15, 4), at(20, 3)]);
    desk.commit(vec![insert(at(12, 5))]);
    assert_eq!(desk.everything(), [at(12, 5), at(15, 4), at(20, 3)]);
}

pub fn an_inverted_range_removal_removes_nothing<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1)), insert(at(20, 2))]);
    desk.commit(vec![remove_range(at(20, 2), at(10, 1), 99), remove_range(at(10, 1), at(10, 1), 99)]);
    assert_eq!(desk.everything(), [at(10, 1), at(20, 2)]);
}

pub fn a_removal_reaches_what_its_own_batch_inserted_before<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![insert(at(10, 1))]);
    desk.commit(vec![
        insert(at(20, 2)),
        remove(at(20, 2)),
        insert(at(30, 3)),
        insert(at(35, 4)),
        remove_range(Position::MIN, at(30, 3), 4),
        insert(at(25, 5)),
    ]);
    assert_eq!(desk.everything(), [at(25, 5), at(35, 4)]);
    let desk = desk.reopen();
    assert_eq!(desk.everything(), [at(25, 5), at(35, 4)]);
}
