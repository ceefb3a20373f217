//! Named state.

use bytes::Bytes;
use punctual_types::{Batch, Write};

use super::desk::{Desk, anchor, at, floor, forget, insert, set, state_of};
use crate::testing::{Harness, wait};

fn pairs(expected: &[(&'static str, &'static str)]) -> Vec<(Bytes, Bytes)> {
    expected.iter().map(|(key, value)| (Bytes::from(*key), Bytes::from(*value))).collect()
}

pub fn state_is_shown_in_key_order<H: Harness>() {
    let desk = Desk::<H>::new();
    assert_eq!(desk.state(), pairs(&[]));
    desk.commit(vec![set("b", "2"), set("a", "1"), set("aa", "3")]);
    desk.commit(vec![set("c", "4"), set("", "5")]);
    let expected = pairs(&[("", "5"), ("a", "1"), ("aa", "3"), ("b", "2"), ("c", "4")]);
    assert_eq!(desk.state(), expected);
    assert_eq!(desk.reopen().state(), expected);
}

pub fn state_is_overwritten_and_forgotten<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![set("a", "1"), set("b", "2"), set("c", "3")]);
    desk.commit(vec![set("a", "9"), forget("b"), forget("never")]);
    assert_eq!(desk.state(), pairs(&[("a", "9"), ("c", "3")]));
    desk.commit(vec![set("b", "again")]);
    let expected = pairs(&[("a", "9"), ("b", "again"), ("c", "3")]);
    assert_eq!(desk.state(), expected);
    assert_eq!(desk.reopen().state(), expected);
}

pub fn the_last_write_of_a_batch_to_a_piece_of_state_wins<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![set("a", "1"), set("a", "2"), set("b", "1"), forget("b"), forget("c"), set("c", "3")]);
    let expected = pairs(&[("a", "2"), ("c", "3")]);
    assert_eq!(desk.state(), expected);
    assert_eq!(desk.reopen().state(), expected);
}

pub fn state_of_shards_is_apart<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![set("a", "1")]);
    let other = desk.other(2);
    wait(other.commit(Batch { writes: vec![set("a", "2"), set("b", "3")], ..Batch::default() })).expect("written");
    assert_eq!(desk.state(), pairs(&[("a", "1")]));
    assert_eq!(state_of(&*other), pairs(&[("a", "2"), ("b", "3")]));
    assert_eq!(state_of(&*desk.other(0)), pairs(&[]));
}

pub fn only_named_state_is_shown_as_such<H: Harness>() {
    let desk = Desk::<H>::new();
    let place = super::desk::place(1);
    desk.commit(vec![
        insert(at(1, 1)),
        anchor(1, at(1, 1)),
        floor(1, at(1, 1)),
        Write::PutIndex { place, entry: super::desk::entry(1, 9) },
        set("a", ""),
    ]);
    assert_eq!(desk.state(), pairs(&[("a", "")]));
}

pub fn state_may_be_long_and_of_any_bytes<H: Harness>() {
    let desk = Desk::<H>::new();
    let key = Bytes::from((0..=255).collect::<Vec<u8>>());
    let value = Bytes::from(vec![0xff; 300_000]);
    desk.commit(vec![Write::SetState { key: key.clone(), value: Some(value.clone()) }]);
    assert_eq!(desk.reopen().state(), [(key, value)]);
}
