//! Random histories, compared with a naive model after every step.
//!
//! A history is made from a seed alone. It keeps to what `Write` asks of its callers: positions
//! are new, sequence numbers rise, floors only rise, marks stand where the line stood, and only
//! what lies ahead of the line is removed. For that it keeps a line of its own.

mod history;
mod naive;
mod random;

use crate::testing::Harness;
use history::History;

/// Environment variable that names one seed to replay.
const SEED: &str = "PUNCTUAL_SEED";
/// Environment variable that names how many histories to run.
const CASES: &str = "PUNCTUAL_CASES";

/// Runs `cases` histories of `steps` steps each. `package` and `test` name the caller, for the
/// command that replays a failure.
///
/// # Panics
/// When the store answers something else than the model.
pub fn random_histories_agree<H: Harness>(package: &str, test: &str, cases: u64, steps: u32) {
    if let Some(seed) = number_of(SEED) {
        return run::<H>(package, test, seed, steps);
    }
    for seed in 1..=number_of(CASES).unwrap_or(cases) {
        run::<H>(package, test, seed, steps);
    }
}

fn run<H: Harness>(package: &str, test: &str, seed: u64, steps: u32) {
    let _replay = Replay { package, test, seed };
    let mut history = History::<H>::begin(seed);
    for step in 0..steps {
        history.step(step);
    }
}

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

/// Says how to replay a history when it panics.
struct Replay<'a> {
    package: &'a str,
    test: &'a str,
    seed: u64,
}

impl Drop for Replay<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { package, test, seed } = self;
            eprintln!("history of seed {seed} failed; replay it with\n  {SEED}={seed} cargo test -p {package} {test}");
        }
    }
}
