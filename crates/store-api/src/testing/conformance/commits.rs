//! Commits, their numbers and their durability.

use std::sync::{Arc, Mutex};

use punctual_types::{Batch, CommitNumber, Read, ReadReply, Write};

use super::desk::{Desk, TIMELINE, at, entry, insert, place, set, value};
use crate::testing::{Harness, ready, wait};

pub fn a_batch_is_visible_whole<H: Harness>() {
    let desk = Desk::<H>::new();
    desk.commit(vec![
        insert(at(1, 1)),
        insert(at(2, 2)),
        Write::PutIndex { place: place(1), entry: entry(1, 9) },
        set("a", "1"),
    ]);
    assert_eq!(desk.everything(), [at(1, 1), at(2, 2)]);
    assert_eq!(desk.lookup(place(1)), Some(entry(1, 9)));
    assert_eq!(desk.state().len(), 1);
}

pub fn a_read_sees_every_commit_written_before_it_durable_or_not<H: Harness>() {
    let desk = Desk::<H>::new();
    for seq in 1..=50 {
        desk.commit(vec![insert(at(1000 - seq, seq))]);
        assert_eq!(desk.record(at(1000 - seq, seq)), Some(value(at(1000 - seq, seq))));
        assert_eq!(desk.everything().len() as u64, seq);
    }
}

pub fn commit_numbers_rise_over_all_shards<H: Harness>() {
    let desk = Desk::<H>::new();
    let shards = [desk.other(0), desk.other(1), desk.other(2)];
    let mut last = CommitNumber(0);
    for round in 0..30 {
        let batch = Batch { writes: vec![set("round", "now")], ..Batch::default() };
        let number = wait(shards[round % 3].commit(batch)).expect("written");
        assert!(number > last, "{number} after {last}");
        last = number;
    }
}

pub fn an_empty_batch_is_a_commit_like_any_other<H: Harness>() {
    let desk = Desk::<H>::new();
    let first = desk.commit(vec![]);
    let second = desk.commit(vec![insert(at(1, 1))]);
    let third = desk.commit(vec![]);
    assert!(first < second && second < third);
    desk.make_durable(third);
    desk.make_durable(first);
}

pub fn when_a_commit_is_durable_so_are_all_before_it<H: Harness>() {
    let desk = Desk::<H>::new();
    let commits: Vec<CommitNumber> = (1..=10).map(|seq| desk.commit(vec![insert(at(seq, seq))])).collect();
    desk.make_durable(commits[7]);
    for commit in &commits[..=7] {
        let mut durable = desk.shard.durable(*commit);
        let answer = ready(&mut durable).expect("ready at once").expect("durable");
        assert_eq!(answer.commit(), *commit);
    }
}

pub fn one_sync_answers_everyone_who_waits<H: Harness>() {
    let desk = Desk::<H>::new();
    let shards = [desk.other(0), desk.other(1), desk.other(2)];
    let waiting: Vec<_> = (0..30)
        .map(|round| {
            let shard = &shards[round % 3];
            let commit =
                wait(shard.commit(Batch { writes: vec![set("a", "b")], ..Batch::default() })).expect("written");
            (commit, shard.durable(commit))
        })
        .collect();
    desk.harness.sync();
    for (commit, durable) in waiting {
        assert_eq!(wait(durable).expect("durable").commit(), commit);
    }
}

pub fn whoever_stops_waiting_does_not_disturb_the_others<H: Harness>() {
    let desk = Desk::<H>::new();
    let commit = desk.commit(vec![insert(at(1, 1))]);
    drop(desk.shard.durable(commit));
    drop(desk.shard.durable(commit));
    desk.make_durable(commit);
    assert!(desk.harness.store().failure().is_none());
}

pub fn shards_are_written_and_read_from_many_threads_at_once<H: Harness>() {
    let desk = Desk::<H>::new();
    let shards = [desk.other(0), desk.other(1), desk.other(2)];
    let commits: Vec<CommitNumber> = std::thread::scope(|scope| {
        let threads: Vec<_> = shards
            .iter()
            .map(|shard| {
                scope.spawn(move || {
                    let mut commits = Vec::new();
                    for seq in 1..=100 {
                        let batch = Batch { writes: vec![insert(at(seq % 7, seq))], ..Batch::default() };
                        commits.push(wait(shard.commit(batch)).expect("written"));
                        let read = Read::Record { timeline: TIMELINE, position: at(seq % 7, seq) };
                        let replies = wait(shard.read(vec![read])).expect("answered");
                        assert_eq!(replies, [ReadReply::Record(Some(value(at(seq % 7, seq))))]);
                    }
                    assert!(commits.is_sorted(), "numbers rise in call order");
                    commits
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut numbers = commits.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 300, "no number is given twice");
    desk.make_durable(numbers[299]);
}

pub fn syncs_are_told_to_the_observer<H: Harness>() {
    let desk = Desk::<H>::new();
    let told = Arc::new(Mutex::new(0));
    let sum = told.clone();
    desk.harness.store().observe_syncs(Arc::new(move |_, commits| *sum.lock().expect("unpoisoned") += commits));
    for seq in 1..=5 {
        let commit = desk.commit(vec![insert(at(seq, seq))]);
        desk.make_durable(commit);
    }
    assert_eq!(*told.lock().expect("unpoisoned"), 5, "commits covered by syncs");
}
