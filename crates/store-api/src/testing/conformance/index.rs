//! Index entries.

use punctual_types::{Batch, IndexKind, IndexPlace, PartitionNumber, Read, ReadReply, Time, TopicNumber, Write};

use super::desk::{Desk, entry, place, read_one, time};
use crate::testing::{Harness, wait};

fn put(place: IndexPlace, seq: u64, expires_at: u64) -> Write {
    Write::PutIndex { place, entry: entry(seq, expires_at) }
}

pub fn an_entry_comes_back_as_it_was_put<H: Harness>() {
    let desk = Desk::<H>::new();
    assert_eq!(desk.lookup(place(1)), None);
    desk.commit(vec![put(place(1), 1, 900)]);
    let last = punctual_types::IndexEntry { expires_at: Time::MAX, outcome: 255, priority: 255, ..entry(9, 0) };
    desk.commit(vec![Write::PutIndex { place: place(2), entry: last }]);
    assert_eq!(desk.lookup(place(1)), Some(entry(1, 900)));
    assert_eq!(desk.lookup(place(2)), Some(last));
    let desk = desk.reopen();
    assert_eq!(desk.lookup(place(1)), Some(entry(1, 900)));
    assert_eq!(desk.lookup(place(2)), Some(last));
}

pub fn an_entry_takes_the_place_of_an_earlier_one<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![put(place(1), 1, 900)]);
    desk.commit(vec![put(place(1), 2, 400)]);
    assert_eq!(desk.lookup(place(1)), Some(entry(2, 400)));
    desk.commit(vec![put(place(1), 3, 500), put(place(1), 4, 300)]);
    assert_eq!(desk.lookup(place(1)), Some(entry(4, 300)));
    let desk = desk.reopen();
    assert_eq!(desk.lookup(place(1)), Some(entry(4, 300)));
}

pub fn entries_are_told_apart_by_every_part_of_their_place<H: Harness>() {
    let desk = Desk::<H>::new();
    let base = place(1);
    let mut last_bit = base;
    last_bit.hash[15] ^= 1;
    let places = [
        base,
        last_bit,
        IndexPlace { index: IndexKind::Dedup, ..base },
        IndexPlace { index: IndexKind::Message, ..base },
        IndexPlace { topic: TopicNumber(8), ..base },
        IndexPlace { partition: PartitionNumber(2), ..base },
    ];
    for (seq, place) in (1..).zip(places) {
        assert_eq!(desk.lookup(place), None, "{place:?}");
        desk.commit(vec![put(place, seq, 900)]);
    }
    for (seq, place) in (1..).zip(places) {
        assert_eq!(desk.lookup(place), Some(entry(seq, 900)), "{place:?}");
    }
    assert_eq!(read_one(&*desk.other(0), Read::Lookup(base)), ReadReply::Entry(None));
}

pub fn an_entry_is_kept_until_its_time<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit_at(0, vec![put(place(1), 1, 600_000), put(place(2), 2, 600_001)]);
    // Another shard's time must not end it either.
    let other = desk.other(0);
    for now in [1, 60_000, 120_000, 600_000] {
        let commit = desk.commit_at(now, vec![]);
        wait(other.commit(Batch { now: time(now), writes: vec![] })).expect("written");
        desk.make_durable(commit);
        assert_eq!(desk.lookup(place(1)), Some(entry(1, 600_000)), "at {now}");
    }
    drop(other);
    let desk = desk.reopen();
    assert_eq!(desk.lookup(place(1)), Some(entry(1, 600_000)));
    // From now on the first may be answered or not, but nothing else in its place.
    desk.commit_at(600_001, vec![]);
    assert!([None, Some(entry(1, 600_000))].contains(&desk.lookup(place(1))));
    assert_eq!(desk.lookup(place(2)), Some(entry(2, 600_001)));
}
