//! How long a suite may take, on two cores. A budget is raised only with a reason: a suite that grows slow is not run.

use std::time::Duration;

/// Of the whole run, checks and compiling included.
pub(super) const WHOLE: Duration = Duration::from_secs(45 * 60);
/// Of formatting, the house rules and clippy, on a machine that has compiled nothing yet.
pub(super) const CHECKS: Duration = Duration::from_secs(10 * 60);
/// Of compiling every test from nothing, downloads included.
pub(super) const COMPILE: Duration = Duration::from_secs(20 * 60);
/// Of a suite that the table does not name.
const DEFAULT: Duration = Duration::from_secs(60);
/// A suite is ended after this many of its budgets: it hangs.
pub(super) const PATIENCE: u32 = 3;

/// Suites that may take longer, with their seconds and why.
const LONGER: &[(&str, u64, &str)] = &[
    ("core/histories", 240, "plays 50,000 random histories against the model: a minute of one idle core"),
    ("cli/cli", 120, "starts, kills and restarts the real binary again and again"),
    ("docs", 180, "each example is compiled and linked by itself"),
    ("gateway-grpc/python_client", 120, "fetches the packages of another language once"),
];

/// The budget of a suite.
pub(super) fn of(name: &str) -> Duration {
    let entry = LONGER.iter().find(|(suite, _, _)| *suite == name);
    entry.map_or(DEFAULT, |(_, seconds, _)| Duration::from_secs(*seconds))
}
