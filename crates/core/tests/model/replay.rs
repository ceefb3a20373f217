//! Random histories in blocks, each of a seed of its own, so that a failure is replayed in a
//! moment by the command it prints.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering,
};

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use punctual_types::Batch;

use super::{naive::Naive, rig::Rig, step::Step};

/// Histories of one seed.
const BLOCK: u32 = 250;
/// Histories of a run that names no number.
const CASES: u32 = 50_000;
/// Steps of a history.
const STEPS_MAX: usize = 80;

/// What was asked for by the environment.
pub(crate) struct Wanted {
    pub(crate) cases: u32,
    /// The seed of the first block.
    pub(crate) seed: u64,
}

impl Wanted {
    /// `PROPTEST_CASES` and `PROPTEST_RNG_SEED`; another seed at every run without it.
    pub(crate) fn from_environment() -> Self {
        let number = |name| {
            let text = std::env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, expected a number")))
        };
        Self {
            cases: number("PROPTEST_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(CASES),
            seed: number("PROPTEST_RNG_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 16),
        }
    }
}

/// Plays a history on the model and the shard, and counts the steps that it takes; what was
/// written.
pub(crate) fn play(steps: &[Step], seen: &dyn Fn()) -> Result<Vec<Batch>, TestCaseError> {
    let mut before = Naive::new();
    let mut rig = Rig::new(&before);
    for (number, step) in steps.iter().enumerate() {
        seen();
        let after = Naive::apply(before.clone(), step);
        let taken = catch_unwind(AssertUnwindSafe(|| rig.take(step, &before, &after)));
        let failed = |why: String| TestCaseError::fail(format!("step {number}, {step:?}: {why}"));
        match taken {
            Ok(Ok(())) => before = after,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                return Err(failed(format!("panicked: {}", text.unwrap_or_default())));
            }
        }
    }
    Ok(rig.written())
}

/// Plays so many histories in blocks; the first failure with the command that replays its block.
pub(crate) fn histories(
    wanted: &Wanted,
    check: impl Fn(&[Step], &dyn Fn()) -> Result<(), TestCaseError>,
) -> Result<(), String> {
    let blocks = wanted.cases.div_ceil(BLOCK);
    for block in 0..blocks {
        let seed = wanted.seed.wrapping_add(u64::from(block));
        let config = Config {
            cases: BLOCK.min(wanted.cases - block * BLOCK),
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: None,
            max_shrink_iters: 20_000,
            verbose: 0,
            ..Config::default()
        };
        let cases = config.cases;
        let strategy = Naive::sequential_strategy(1..STEPS_MAX);
        let played = TestRunner::new(config).run(&strategy, |(_, steps, counter)| {
            // What was never reached is what shrinking throws away first.
            let seen = || {
                if let Some(counter) = &counter {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            };
            check(&steps, &seen)
        });
        played.map_err(|error| {
            let TestError::Fail(why, (_, steps, _)) = error else { return format!("the test gave up: {error}") };
            let steps: Vec<_> = steps.iter().map(|step| format!("  {step:?}")).collect();

            format!(
                "{why}\nthe shortest history found:\n{}\nseed {seed}; replay with:\nPROPTEST_RNG_SEED={seed} PROPTEST_CASES={cases} cargo test -p \
                 punctual-core --test histories",
                steps.join("\n")
            )
        })?;
    }
    Ok(())
}
