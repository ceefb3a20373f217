//! Counting by the minute.

use punctual_types::Position;

use super::desk::{Desk, at, floor, insert, remove};
use crate::testing::Harness;

const MINUTE: u64 = 60_000;

pub fn a_count_has_a_bucket_for_each_minute_that_is_not_empty<H: Harness>() {
    let desk = Desk::<H>::new();
    let dues = [0, 1, MINUTE - 1, MINUTE, 3 * MINUTE, 3 * MINUTE + 1, 120 * MINUTE - 1];
    desk.commit((1..).zip(dues).map(|(seq, due)| insert(at(due, seq))).collect());
    let all = (Position::MIN, Position::MAX);
    assert_eq!(desk.count(all.0, all.1, MINUTE), [(0, 3), (MINUTE, 1), (3 * MINUTE, 2), (119 * MINUTE, 1)]);
    assert_eq!(desk.count(all.0, all.1, 60 * MINUTE), [(0, 6), (60 * MINUTE, 1)]);
    desk.commit(vec![remove(at(MINUTE, 4))]);
    assert_eq!(desk.count(all.0, all.1, MINUTE), [(0, 3), (3 * MINUTE, 2), (119 * MINUTE, 1)]);
}

pub fn a_count_keeps_to_its_bounds<H: Harness>() {
    let desk = Desk::<H>::new();
    let all: Vec<Position> = (1..=6).map(|seq| at(seq * MINUTE, seq)).collect();
    desk.commit(all.iter().copied().map(insert).collect());
    assert_eq!(desk.count(all[0], all[2], MINUTE), [(2 * MINUTE, 1), (3 * MINUTE, 1)]);
    assert_eq!(desk.count(all[3], all[3], MINUTE), []);
    assert_eq!(desk.count(all[4], all[3], MINUTE), []);
    // Buckets begin at multiples of their width, not at the bound.
    assert_eq!(desk.count(all[2], Position::MAX, 4 * MINUTE), [(4 * MINUTE, 3)]);
    desk.commit(vec![floor(5, all[4])]);
    assert_eq!(desk.count(Position::MIN, Position::MAX, MINUTE), [(6 * MINUTE, 1)]);
}

pub fn a_count_may_be_long<H: Harness>() {
    let desk = Desk::<H>::new();
    for batch in 0..25 {
        desk.commit((1..=1000).map(|n| insert(at((batch * 1000 + n) % 10 * MINUTE, batch * 1000 + n))).collect());
    }
    let expected: Vec<(u64, u64)> = (0..10).map(|minute| (minute * MINUTE, 2500)).collect();
    assert_eq!(desk.count(Position::MIN, Position::MAX, MINUTE), expected);
}
