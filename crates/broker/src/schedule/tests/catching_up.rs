//! What is done now, and what becomes of the runs that were missed.

use punctual_broker_api::CatchUp;
use punctual_types::{DelayMs, limits};

use super::{cron, text, time};
use crate::schedule::{Moment, Plan, Progress, Step, seed};

const MOST: usize = limits::SCHEDULE_STEP_RUNS_MAX;

fn hourly(catch_up: CatchUp) -> Plan {
    Plan { timing: cron("0 * * * *", "UTC"), catch_up, max_runs: None }
}

fn done_to(done_to: &str) -> Progress {
    Progress { done_to: time(done_to), runs: 0 }
}

/// All that is done, step by step, and where it ends.
fn run(plan: &Plan, mut progress: Progress, now: &str, looking_since: &str) -> (Vec<String>, Progress) {
    let moment = Moment { now: time(now), looking_since: time(looking_since) };
    let mut runs = Vec::new();
    while let Some(Step { runs: step, done_to }) = plan.step(progress, moment, MOST) {
        assert!(done_to > progress.done_to && step.len() <= MOST);
        progress = Progress { done_to, runs: progress.runs + step.len() as u64 };
        runs.extend(step.into_iter().map(text));
    }
    (runs, progress)
}

#[test]
fn a_run_is_not_before_its_time_and_at_its_time() {
    let plan = hourly(CatchUp::None);
    let progress = done_to("2030-01-01T00:00:00Z");
    assert_eq!(run(&plan, progress, "2030-01-01T00:59:59.999Z", "2030-01-01T00:00:00Z").0, [""; 0]);
    assert_eq!(run(&plan, progress, "2030-01-01T01:00:00Z", "2030-01-01T00:00:00Z").0, ["2030-01-01T01:00:00Z"]);
    assert_eq!(plan.next_due(progress).map(text).as_deref(), Some("2030-01-01T01:00:00Z"));
}

#[test]
fn what_comes_due_while_the_broker_looks_is_never_missed_however_late_it_gets_to_it() {
    let late =
        run(&hourly(CatchUp::None), done_to("2030-01-01T00:00:00Z"), "2030-01-01T03:30:00Z", "2030-01-01T00:30:00Z");
    assert_eq!(late.0, ["2030-01-01T01:00:00Z", "2030-01-01T02:00:00Z", "2030-01-01T03:00:00Z"]);
}

#[test]
fn what_was_missed_is_passed_over_made_up_for_once_or_made_up_for_each() {
    let (progress, now) = (done_to("2030-01-01T00:00:00Z"), "2030-01-01T04:30:00Z");
    for (catch_up, expected) in [
        (CatchUp::None, &[][..]),
        (CatchUp::Last, &["2030-01-01T04:00:00Z"]),
        (
            CatchUp::All,
            &["2030-01-01T01:00:00Z", "2030-01-01T02:00:00Z", "2030-01-01T03:00:00Z", "2030-01-01T04:00:00Z"],
        ),
    ] {
        let (runs, progress) = run(&hourly(catch_up), progress, now, now);
        assert_eq!(runs, expected, "{catch_up:?}");
        assert_eq!(text(progress.done_to), "2030-01-01T04:00:00Z");
        let next = hourly(catch_up).next_due(progress).map(text);
        assert_eq!(next.as_deref(), Some("2030-01-01T05:00:00Z"), "{catch_up:?}");
    }
}

#[test]
fn a_run_less_late_than_the_limit_of_lateness_was_not_missed() {
    let progress = done_to("2030-01-01T00:00:00Z");
    let at = |late_ms: u64| text(time("2030-01-01T01:00:00Z").saturating_add(DelayMs::from_ms(late_ms)));
    let limit = limits::SCHEDULE_LATENESS_MAX.ms();
    let just = at(limit - 1);
    assert_eq!(run(&hourly(CatchUp::None), progress, &just, &just).0, ["2030-01-01T01:00:00Z"]);
    assert_eq!(run(&hourly(CatchUp::None), progress, &at(limit), &at(limit)).0, [""; 0]);
}

#[test]
fn of_a_month_of_missed_minutes_the_latest_thousand_are_made_up_for_in_order() {
    let plan = Plan { timing: cron("* * * * *", "Europe/Berlin"), catch_up: CatchUp::All, max_runs: None };
    let now = "2030-02-01T00:00:30Z";
    let (runs, progress) = run(&plan, done_to("2030-01-01T00:00:00Z"), now, now);
    assert_eq!(runs.len(), limits::SCHEDULE_CATCH_UP_MAX);
    assert!(runs.is_sorted());
    assert_eq!(runs.first().map(String::as_str), Some("2030-01-31T07:21:00Z"));
    assert_eq!(runs.last().map(String::as_str), Some("2030-02-01T00:00:00Z"));
    assert_eq!(text(progress.done_to), "2030-02-01T00:00:00Z");
    // Cut short anywhere, it goes on where it was.
    let moment = Moment { now: time(now), looking_since: time(now) };
    let first = plan.step(done_to("2030-01-01T00:00:00Z"), moment, MOST).expect("a step");
    let (rest, _) = run(&plan, Progress { done_to: first.done_to, runs: MOST as u64 }, now, now);
    assert_eq!((rest.len(), rest.first()), (limits::SCHEDULE_CATCH_UP_MAX - MOST, runs.get(MOST)));
}

#[test]
fn after_catching_up_the_runs_that_came_due_since_follow() {
    let (now, looking_since) = ("2030-01-01T05:10:00Z", "2030-01-01T03:30:00Z");
    let (runs, _) = run(&hourly(CatchUp::Last), done_to("2030-01-01T00:00:00Z"), now, looking_since);
    assert_eq!(runs, ["2030-01-01T03:00:00Z", "2030-01-01T04:00:00Z", "2030-01-01T05:00:00Z"]);
}

#[test]
fn it_ends_after_its_last_run_also_in_the_middle_of_catching_up() {
    let plan = Plan { max_runs: Some(3), ..hourly(CatchUp::All) };
    let now = "2030-01-01T09:30:00Z";
    let (runs, progress) = run(&plan, done_to("2030-01-01T00:00:00Z"), now, now);
    assert_eq!((runs.len(), progress.runs), (3, 3));
    assert_eq!((plan.next_due(progress), plan.upcoming(progress, 5)), (None, Vec::new()));
    let two_left = Progress { runs: 1, ..done_to("2030-01-01T00:00:00Z") };
    assert_eq!(plan.upcoming(two_left, 5).len(), 2);
}

#[test]
fn a_missed_run_that_its_jitter_moved_behind_the_restart_is_not_missed() {
    let mut plan = hourly(CatchUp::None);
    plan.timing.jitter = DelayMs::from_secs(3000);
    plan.timing.seed = seed("default", "reports");
    let nominal = time("2030-01-01T04:00:00Z");
    let due = plan.timing.due(nominal);
    assert!(due > nominal.saturating_add(DelayMs::from_secs(61)), "this seed should jitter");
    let opened = text(time("2030-01-01T04:00:01Z"));
    let progress = done_to("2030-01-01T00:00:00Z");
    let (runs, left) = run(&plan, progress, &opened, &opened);
    assert_eq!((runs.len(), text(left.done_to).as_str()), (0, "2030-01-01T03:00:00Z"));
    assert_eq!(plan.next_due(left), Some(due));
    assert_eq!(run(&plan, left, &text(due), &opened).0, ["2030-01-01T04:00:00Z"]);
}
