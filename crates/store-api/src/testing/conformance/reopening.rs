//! What is there after the store was closed, or died.

use punctual_types::{Position, Write};

use super::desk::{Desk, SHARDS, anchor, at, entry, floor, insert, place, remove, set, value};
use crate::testing::Harness;

pub fn a_clean_close_keeps_everything<H: Harness>() {
    let desk = Desk::<H>::new();
    let all: Vec<Position> = (1..=20).map(|seq| at(seq * 10, seq)).collect();
    desk.commit(all.iter().copied().map(insert).collect());
    desk.commit(vec![anchor(8, all[7]), floor(5, all[4]), remove(all[15])]);
    desk.commit(vec![Write::PutIndex { place: place(1), entry: entry(1, 900) }, set("a", "1")]);
    let secret = desk.harness.store().secret();
    let mut desk = desk;
    for _ in 0..2 {
        desk = desk.reopen();
        assert_eq!((desk.harness.store().shards(), desk.harness.store().secret()), (SHARDS, secret));
        assert_eq!(desk.everything(), [&all[5..15], &all[16..]].concat());
        assert_eq!(desk.offset_of(all[12]), Some(12));
        assert_eq!(desk.at_offset(9, 3), all[9..12]);
        assert_eq!(desk.lookup(place(1)), Some(entry(1, 900)));
        assert_eq!(desk.state().len(), 1);
    }
}

pub fn a_reopened_store_goes_on_where_it_was<H: Harness>() {
    let mut desk = Desk::<H>::new();
    for round in 1..=4 {
        let commit = desk.commit(vec![insert(at(100 - round, round)), set("round", "n")]);
        desk.make_durable(commit);
        desk = desk.reopen();
    }
    assert_eq!(desk.everything(), [at(96, 4), at(97, 3), at(98, 2), at(99, 1)]);
}

pub fn a_crash_keeps_what_is_durable_and_whole_batches_only<H: Harness>() {
    let desk = Desk::<H>::new();
    let batch = |n: u64| vec![insert(at(n, 2 * n)), insert(at(n, 2 * n + 1)), set("last", &n.to_string())];
    let commits: Vec<_> = (1..=9).map(|n| desk.commit(batch(n))).collect();
    desk.make_durable(commits[4]);
    for n in 10..=12 {
        desk.commit(batch(n));
    }
    let Desk { harness, shard } = desk;
    drop(shard);
    // A store that cannot be crashed inside a test has a test of its own for this.
    let Ok(harness) = harness.crash() else { return };
    let desk = Desk::over(harness);
    let found = desk.everything();
    let batches = found.len() as u64 / 2;
    assert!((5..=12).contains(&batches), "batches 1 to 5 were durable, {batches} are left");
    let expected: Vec<Position> = (1..=batches).flat_map(|n| [at(n, 2 * n), at(n, 2 * n + 1)]).collect();
    assert_eq!(found, expected, "a prefix of whole batches");
    assert_eq!(desk.state()[0].1, batches.to_string());
    assert_eq!(desk.record(at(1, 2)), Some(value(at(1, 2))));
}
