//! The core against a naive model, over random histories.
//!
//! `PROPTEST_CASES` sets how many (20,000 otherwise) and `PROPTEST_RNG_SEED` which; a failure
//! prints the command that replays it.

mod model;
mod support;

use model::{
    replay::{Wanted, histories, play},
    step::Step,
};
use proptest::test_runner::TestCaseError;

#[test]
fn the_core_does_what_a_sorted_map_and_a_list_would() {
    if let Err(failure) = histories(&Wanted::from_environment(), play) {
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
