//! What becomes of times that a change of the clock skips or shows twice.
//!
//! Berlin 2030: 31 March 02:00 → 03:00 (01:00 UTC), 27 October 03:00 → 02:00 (01:00 UTC).
//! New York 2030: 10 March 02:00 → 03:00 (07:00 UTC), 3 November 02:00 → 01:00 (06:00 UTC).
//! Lord Howe 2030, half an hour: 6 October 02:00 → 02:30 (5 October 15:30 UTC), 7 April 02:00 → 01:30
//! (6 April 15:00 UTC).

use super::{after, cron};

fn check(pattern: &str, zone: &str, from: &str, expected: &[&str]) {
    assert_eq!(after(&cron(pattern, zone), from, expected.len()), expected, "{pattern} in {zone}");
}

#[test]
fn a_time_of_the_day_that_is_skipped_comes_at_the_end_of_the_gap() {
    let from = "2030-03-30T12:00:00Z";
    check("30 2 * * *", "Europe/Berlin", from, &["2030-03-31T01:00:00Z", "2030-04-01T00:30:00Z"]);
    check("0 2 * * *", "Europe/Berlin", from, &["2030-03-31T01:00:00Z", "2030-04-01T00:00:00Z"]);
    check("30 59 2 * * *", "Europe/Berlin", from, &["2030-03-31T01:00:00Z", "2030-04-01T00:59:30Z"]);
    let from = "2030-03-09T12:00:00Z";
    check("30 2 * * *", "America/New_York", from, &["2030-03-10T07:00:00Z", "2030-03-11T06:30:00Z"]);
    let from = "2030-10-05T00:00:00Z";
    check("15 2 * * *", "Australia/Lord_Howe", from, &["2030-10-05T15:30:00Z", "2030-10-06T15:15:00Z"]);
    check("45 2 * * *", "Australia/Lord_Howe", from, &["2030-10-05T15:45:00Z", "2030-10-06T15:45:00Z"]);
}

#[test]
fn several_times_of_one_gap_come_once_and_with_the_one_at_its_end() {
    let from = "2030-03-31T00:00:00Z";
    check("0,30 2 * * *", "Europe/Berlin", from, &["2030-03-31T01:00:00Z", "2030-04-01T00:00:00Z"]);
    check("0 2,3 * * *", "Europe/Berlin", from, &["2030-03-31T01:00:00Z", "2030-04-01T00:00:00Z"]);
}

#[test]
fn the_end_of_the_gap_is_not_found_again_from_within_or_after_it() {
    let next = &["2030-04-01T00:30:00Z"];
    for from in ["2030-03-31T01:00:00Z", "2030-03-31T01:00:00.500Z", "2030-03-31T01:29:00Z", "2030-03-31T01:31:00Z"] {
        check("30 2 * * *", "Europe/Berlin", from, next);
    }
    check("30 2 * * *", "Europe/Berlin", "2030-03-31T00:59:59.999Z", &["2030-03-31T01:00:00Z"]);
}

#[test]
fn a_time_of_the_day_that_is_shown_twice_comes_the_first_time() {
    let from = "2030-10-26T12:00:00Z";
    check("30 2 * * *", "Europe/Berlin", from, &["2030-10-27T00:30:00Z", "2030-10-28T01:30:00Z"]);
    let from = "2030-11-02T12:00:00Z";
    check("30 1 * * *", "America/New_York", from, &["2030-11-03T05:30:00Z", "2030-11-04T06:30:00Z"]);
    let from = "2030-04-06T00:00:00Z";
    check("45 1 * * *", "Australia/Lord_Howe", from, &["2030-04-06T14:45:00Z", "2030-04-07T15:15:00Z"]);
    check("0 2 * * *", "Australia/Lord_Howe", from, &["2030-04-06T15:30:00Z", "2030-04-07T15:30:00Z"]);
}

#[test]
fn the_second_showing_is_not_found_from_between_the_two() {
    for from in ["2030-10-27T00:30:00Z", "2030-10-27T00:45:00Z", "2030-10-27T01:00:00Z", "2030-10-27T01:29:59Z"] {
        check("30 2 * * *", "Europe/Berlin", from, &["2030-10-28T01:30:00Z"]);
    }
}

#[test]
fn minutes_and_hours_with_a_star_go_by_elapsed_time_through_a_gap() {
    let quarters = ["2030-03-31T00:45:00Z", "2030-03-31T01:00:00Z", "2030-03-31T01:15:00Z"];
    check("*/15 * * * *", "Europe/Berlin", "2030-03-31T00:30:00Z", &quarters);
    let hours = ["2030-03-31T00:30:00Z", "2030-03-31T01:30:00Z", "2030-03-31T02:30:00Z"];
    check("30 * * * *", "Europe/Berlin", "2030-03-31T00:00:00Z", &hours);
    // Every minute of an hour that does not come.
    let next_day = ["2030-04-01T00:00:00Z", "2030-04-01T00:01:00Z"];
    check("* 2 * * *", "Europe/Berlin", "2030-03-31T00:00:00Z", &next_day);
    // Between the jump by half an hour, 01:59 is followed by 02:30.
    let minutes = ["2030-10-05T15:29:00Z", "2030-10-05T15:30:00Z", "2030-10-05T15:31:00Z"];
    check("* * * * *", "Australia/Lord_Howe", "2030-10-05T15:28:00Z", &minutes);
    let quarters = ["2030-10-05T15:15:00Z", "2030-10-05T15:45:00Z", "2030-10-05T16:15:00Z"];
    check("15,45 * * * *", "Australia/Lord_Howe", "2030-10-05T15:00:00Z", &quarters);
}

#[test]
fn minutes_and_hours_with_a_star_go_by_elapsed_time_through_what_is_shown_twice() {
    let hours = ["2030-10-27T00:30:00Z", "2030-10-27T01:30:00Z", "2030-10-27T02:30:00Z"];
    check("30 * * * *", "Europe/Berlin", "2030-10-27T00:00:00Z", &hours);
    let halves = ["2030-11-03T05:00:00Z", "2030-11-03T05:30:00Z", "2030-11-03T06:00:00Z", "2030-11-03T06:30:00Z"];
    check("*/30 1 * * *", "America/New_York", "2030-11-03T04:59:00Z", &halves);
    // 01:30 to 02:00 is shown twice: 01:45 comes at 14:45 and at 15:15.
    let each = ["2030-04-06T14:45:00Z", "2030-04-06T15:15:00Z", "2030-04-06T16:15:00Z"];
    check("45 * * * *", "Australia/Lord_Howe", "2030-04-06T14:00:00Z", &each);
}

#[test]
fn a_star_in_the_second_goes_by_elapsed_time_too() {
    let seconds = ["2030-10-27T00:59:59Z", "2030-10-27T01:00:00Z", "2030-10-27T01:00:01Z"];
    check("* * 2 * * *", "Europe/Berlin", "2030-10-27T00:59:58Z", &seconds);
}

#[test]
fn a_day_that_a_zone_left_out_comes_at_its_end() {
    // Samoa crossed the date line: 29 December 2011 was followed by 31 December.
    let days = ["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"];
    check("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", &days);
}

#[test]
fn times_only_ever_go_forward_over_a_hundred_years_of_changes() {
    for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Antarctica/Troll"] {
        for pattern in ["30 2 * * *", "0,15,30,45 0-3 * * *", "*/30 * * * *"] {
            let timing = cron(pattern, zone);
            let all: Vec<_> = timing.times_after(super::time("2028-01-01T00:00:00Z")).take(3000).collect();
            assert!(all.is_sorted_by(|one, next| one < next), "{pattern} in {zone}");
            // Whoever asks in between is told the same.
            for pair in all.windows(2) {
                let between = punctual_types::Time::from_unix_ms(pair[0].unix_ms().midpoint(pair[1].unix_ms()));
                assert_eq!(timing.next_after(between.expect("a time")), Some(pair[1]), "{pattern} in {zone}");
            }
        }
    }
}
