//! The core against a naive model, over random histories.
//!
//! `PROPTEST_CASES` sets how many (50,000 otherwise) and `PROPTEST_RNG_SEED` which; a failure
//! prints the command that replays it.

mod model;
mod support;

use std::{cell::RefCell, collections::BTreeSet};

use model::{
    naive::{Naive, Told},
    replay::{Wanted, histories, play},
    step::Step,
};
use proptest::test_runner::TestCaseError;
use proptest_state_machine::ReferenceStateMachine;
use punctual_types::Lane;

#[test]
fn the_core_does_what_a_sorted_map_and_a_list_would() {
    let check = |steps: &[Step], seen: &dyn Fn()| play(steps, seen).map(|_| ());
    if let Err(failure) = histories(&Wanted::from_environment(), check) {
        panic!("{failure}");
    }
}

#[test]
fn the_same_history_writes_the_same_batches() {
    let twice = |steps: &[Step], seen: &dyn Fn()| match play(steps, seen)? == play(steps, &|| {})? {
        true => Ok(()),
        false => Err(TestCaseError::fail("the same commands wrote something else")),
    };
    let wanted = Wanted { cases: 500, ..Wanted::from_environment() };
    if let Err(failure) = histories(&wanted, twice) {
        panic!("{failure}");
    }
}

#[test]
fn a_failing_history_is_replayed_by_its_seed() {
    let fails = |steps: &[Step], seen: &dyn Fn()| {
        for step in steps {
            seen();
            if matches!(step, Step::Crash) {
                return Err(TestCaseError::fail("a planted failure"));
            }
        }
        Ok(())
    };
    let failure = histories(&Wanted { cases: 1000, seed: 7 }, fails).expect_err("some history crashes");
    assert!(
        failure.contains("a planted failure") && failure.contains("found:\n  Crash\nseed"),
        "it is made short: {failure}"
    );
    let seed = failure.split("PROPTEST_RNG_SEED=").nth(1).and_then(|rest| rest.split(' ').next());
    let cases = failure.split("PROPTEST_CASES=").nth(1).and_then(|rest| rest.split(' ').next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).expect("the command names it");
    let again = Wanted { cases: number(cases) as u32, seed: number(seed) };
    assert_eq!(histories(&again, fails), Err(failure), "the printed command shows the same failure");
}

#[test]
fn histories_meet_every_kind_of_answer() {
    let met = RefCell::new(BTreeSet::new());
    let collect = |steps: &[Step], _: &dyn Fn()| {
        let mut naive = Naive::new();
        for step in steps {
            naive = Naive::apply(naive, step);
            let step = word(format!("{step:?}"));
            met.borrow_mut().extend(kinds(&naive.told).into_iter().map(|kind| format!("{step} {kind}")));
            if !naive.all_parked().is_empty() {
                met.borrow_mut().insert(format!("parked after {step}"));
            }
            met.borrow_mut().extend(situations(&naive).into_iter().map(str::to_owned));
        }
        Ok(())
    };
    histories(&Wanted { cases: 5000, seed: 1 }, collect).expect("nothing is checked");
    let met = met.into_inner();
    for kind in [
        "Publish Accepted",
        "Publish Duplicate",
        "Publish Replaced",
        "Publish Kept",
        "Publish Refused",
        "Advance Priority",
        "Advance Retry",
        "Lease 1",
        "Lease 2",
        "Lease 3",
        "Ack Done",
        "Ack LeaseLost",
        "Nack Retry",
        "Nack DeadLettered",
        "Nack LeaseLost",
        "Release Done",
        "Release LeaseLost",
        "Extend Extended",
        "Extend LeaseLost",
        "Expire true",
        "Disconnect true",
        "Cancel Cancelled",
        "Cancel TooLate",
        "Cancel NotFound",
        "Reschedule Rescheduled",
        "Reschedule TooLate",
        "Reschedule NotFound",
        "DeliverNow DeliveredNow",
        "DeliverNow TooLate",
        "DeliverNow NotFound",
        "CancelRange true",
        "Get None",
        "Get Some(true)",
        "Get Some(false)",
        "Subscribe ",
        "Unsubscribe ",
        "Sync ",
        "Restart ",
        "Crash ",
        "a key that waits",
        "parked after Nack",
        "parked after Restart",
        "parked after Crash",
        "filtered",
        "priorities",
        "dead letters",
        "a risen floor",
    ] {
        assert!(met.contains(kind), "no history met {kind:?}, only {met:?}");
    }
}

/// What there is to be seen after a step.
fn situations(naive: &Naive) -> Vec<&'static str> {
    let waits = |number| {
        naive.published(number).into_iter().any(|id| {
            let (line, reading) = (&naive.lines[&id], &naive.readers[&number].lanes[&id.lane]);
            reading.ready(line).into_iter().any(|offset| naive.waits(number, id, offset))
        })
    };
    let all = [
        ("dead letters", naive.readers.values().any(|reader| reader.dead > 0)),
        ("a risen floor", naive.lines.values().any(|line| line.floor > 0)),
        ("filtered", naive.readers.values().any(|reader| reader.filtered > 0)),
        ("priorities", naive.lines.keys().any(|line| line.lane == Lane::Priority(2))),
        ("a key that waits", naive.readers.keys().any(|number| waits(*number))),
    ];
    all.into_iter().filter_map(|(what, is_met)| is_met.then_some(what)).collect()
}

/// The first word of a text: the name of a variant.
fn word(text: String) -> String {
    text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

/// Which kinds of answer the shard gave.
fn kinds(told: &Told) -> Vec<String> {
    match told {
        Told::Nothing => vec![String::new()],
        Told::Published(answers) => answers.iter().map(|it| word(format!("{it:?}"))).collect(),
        Told::Crossed(lines) => lines.keys().map(|line| word(format!("{:?}", line.lane))).collect(),
        Told::Leased(leased) => leased.iter().map(|(_, _, attempt)| attempt.to_string()).collect(),
        Told::Settled(answers) => answers.iter().map(|it| word(format!("{it:?}"))).collect(),
        Told::Nacked(answers) => answers.iter().map(|it| word(format!("{it:?}"))).collect(),
        Told::Extended(answers) => answers.iter().map(|it| word(format!("{it:?}"))).collect(),
        Told::Returned(returned) => vec![(!returned.is_empty()).to_string()],
        Told::Cancelled(answer) => vec![word(format!("{answer:?}"))],
        Told::Rescheduled(answer) => vec![word(format!("{answer:?}"))],
        Told::DeliveredNow(answer) => vec![word(format!("{answer:?}"))],
        Told::RangeCancelled(count) => vec![(*count > 0).to_string()],
        Told::Group(_) => vec![String::new()],
        Told::Found(found) => vec![format!("{:?}", found.map(|(_, scheduled)| scheduled))],
    }
}
