//! Which times an expression and a period mean.

use punctual_types::{DelayMs, Time, limits};

use super::{after, cron, every, text, time};
use crate::schedule::{CronFault, CronTimes, seed};

fn check(pattern: &str, zone: &str, from: &str, expected: &[&str]) {
    assert_eq!(after(&cron(pattern, zone), from, expected.len()), expected, "{pattern} in {zone}");
}

#[test]
fn an_expression_of_five_fields_comes_at_the_full_minute_and_one_of_six_at_its_second() {
    check("0 9 * * *", "UTC", "2030-01-01T09:00:00Z", &["2030-01-02T09:00:00Z", "2030-01-03T09:00:00Z"]);
    check("0 9 * * *", "UTC", "2030-01-01T08:59:59.999Z", &["2030-01-01T09:00:00Z"]);
    check("0 9 * * *", "UTC", "2030-01-01T09:00:00.001Z", &["2030-01-02T09:00:00Z"]);
    check("30 0 9 * * *", "UTC", "2030-01-01T00:00:00Z", &["2030-01-01T09:00:30Z"]);
    check("*/20 * * * * *", "UTC", "2030-01-01T00:00:20Z", &["2030-01-01T00:00:40Z", "2030-01-01T00:01:00Z"]);
}

#[test]
fn days_go_by_name_by_number_from_the_end_and_by_weekday() {
    // 2030-01-01 is a Tuesday.
    check("0 0 * * MON-FRI", "UTC", "2030-01-03T12:00:00Z", &["2030-01-04T00:00:00Z", "2030-01-07T00:00:00Z"]);
    check("0 0 * * 0", "UTC", "2030-01-01T00:00:00Z", &["2030-01-06T00:00:00Z", "2030-01-13T00:00:00Z"]);
    check("0 0 * * 7", "UTC", "2030-01-01T00:00:00Z", &["2030-01-06T00:00:00Z"]);
    check("0 0 L * *", "UTC", "2030-01-01T00:00:00Z", &["2030-01-31T00:00:00Z", "2030-02-28T00:00:00Z"]);
    check("0 0 * * FRI#2", "UTC", "2030-01-01T00:00:00Z", &["2030-01-11T00:00:00Z", "2030-02-08T00:00:00Z"]);
    check("0 0 29 2 *", "UTC", "2030-01-01T00:00:00Z", &["2032-02-29T00:00:00Z", "2036-02-29T00:00:00Z"]);
    // As cron has it: a day that either of the two fields names.
    check("0 0 10 * MON", "UTC", "2030-01-06T00:00:00Z", &["2030-01-07T00:00:00Z", "2030-01-10T00:00:00Z"]);
}

#[test]
fn the_time_zone_decides_what_the_hour_is() {
    check("0 9 * * *", "Europe/Berlin", "2030-01-01T00:00:00Z", &["2030-01-01T08:00:00Z"]);
    check("0 9 * * *", "Europe/Berlin", "2030-07-01T00:00:00Z", &["2030-07-01T07:00:00Z"]);
    check("0 9 * * *", "Asia/Kathmandu", "2030-01-01T00:00:00Z", &["2030-01-01T03:15:00Z"]);
    check("0 9 * * *", "europe/berlin", "2030-01-01T00:00:00Z", &["2030-01-01T08:00:00Z"]);
}

#[test]
fn what_is_no_expression_is_refused_and_so_is_what_never_comes() {
    for pattern in ["61 * * * *", "* 24 * * *", "a b c d e", "*/0 * * * *", "0 9 32 * *", "1-x * * * *", "0 9 * 13 *"] {
        let fault = CronTimes::parse(pattern, "UTC").expect_err(pattern);
        assert!(matches!(fault, CronFault::Pattern(_)), "{pattern}: {fault:?}");
    }
    for (pattern, fields) in [("* * * *", 4), ("* * * * * * *", 7), ("@daily", 1), (" ", 0)] {
        assert_eq!(CronTimes::parse(pattern, "UTC").err(), Some(CronFault::Fields(fields)), "{pattern}");
    }
    for pattern in ["0 0 30 2 *", "* * 31 4,6,9,11 *"] {
        assert_eq!(CronTimes::parse(pattern, "UTC").err(), Some(CronFault::Never), "{pattern}");
    }
    for zone in ["", "Europe/Berln", "+02:00", "Etc/Unknown", "../etc/passwd"] {
        assert_eq!(CronTimes::parse("* * * * *", zone).err(), Some(CronFault::Zone), "{zone}");
    }
}

#[test]
fn an_expression_may_be_as_long_as_its_limit_and_no_longer() {
    let of = |bytes: usize| format!("{}* * * * *", " ".repeat(bytes - 9));
    let max = limits::SCHEDULE_CRON_BYTES_MAX;
    assert!(CronTimes::parse(&of(max), "UTC").is_ok());
    assert_eq!(CronTimes::parse(&of(max + 1), "UTC").err(), Some(CronFault::Length(max + 1)));
}

#[test]
fn periods_are_counted_from_their_beginning_without_drift() {
    let timing = every(DelayMs::from_secs(90), "2030-01-01T00:00:00.250Z");
    let from_start = ["2030-01-01T00:00:00.250Z", "2030-01-01T00:01:30.250Z", "2030-01-01T00:03:00.250Z"];
    assert_eq!(after(&timing, "2029-12-31T00:00:00Z", 3), from_start);
    assert_eq!(after(&timing, "2030-01-01T00:01:30.249Z", 1), &from_start[1..2]);
    assert_eq!(after(&timing, "2030-01-01T00:01:30.250Z", 1), &from_start[2..]);
    assert_eq!(after(&timing, "2031-01-01T00:00:00Z", 1), ["2031-01-01T00:00:00.250Z"]);
}

#[test]
fn start_is_the_first_time_that_may_be_and_end_the_first_that_may_not() {
    let mut timing = cron("0 * * * *", "UTC");
    timing.start = Some(time("2030-01-01T10:00:00Z"));
    timing.end = Some(time("2030-01-01T12:00:00Z"));
    assert_eq!(after(&timing, "2030-01-01T00:00:00Z", 9), ["2030-01-01T10:00:00Z", "2030-01-01T11:00:00Z"]);
    timing.end = Some(time("2030-01-01T12:00:00.001Z"));
    assert_eq!(after(&timing, "2030-01-01T11:00:00Z", 9), ["2030-01-01T12:00:00Z"]);
}

#[test]
fn nothing_comes_after_the_end_of_time() {
    assert_eq!(
        every(DelayMs::from_ms(u64::MAX), "2030-01-01T00:00:00Z").next_after(time("2030-01-01T00:00:00Z")),
        None
    );
    assert_eq!(cron("* * * * *", "Europe/Berlin").next_after(Time::MAX), None);
}

#[test]
fn the_last_times_are_found_without_walking_to_them() {
    let timing = cron("*/15 * * * *", "Europe/Berlin");
    let (long_ago, now) = (time("1990-01-01T00:00:00Z"), time("2030-06-01T10:20:00Z"));
    assert_eq!(timing.last_between(long_ago, now).map(text).as_deref(), Some("2030-06-01T10:15:00Z"));
    let latest = timing.latest_between(long_ago, now, 3);
    let expected = ["2030-06-01T09:45:00Z", "2030-06-01T10:00:00Z", "2030-06-01T10:15:00Z"];
    assert_eq!(latest.into_iter().map(text).collect::<Vec<_>>(), expected);
    assert_eq!(timing.last_between(time("2030-06-01T10:15:00Z"), now), None);
    assert_eq!(timing.latest_between(time("2030-06-01T10:00:00Z"), now, 3).len(), 1);
    // Over gaps of every width.
    let rare = cron("* 3 29 2 *", "UTC");
    let latest = rare.latest_between(long_ago, time("2033-01-01T00:00:00Z"), 61);
    assert_eq!(latest.first().copied().map(text).as_deref(), Some("2028-02-29T03:59:00Z"));
    assert_eq!((latest.len(), latest.last().copied().map(text).as_deref()), (61, Some("2032-02-29T03:59:00Z")));
}

#[test]
fn jitter_is_never_before_its_time_nor_up_to_the_next_and_the_same_when_asked_again() {
    let mut timing = cron("* * * * *", "UTC");
    timing.seed = seed("default", "reports");
    for jitter_ms in [1, 1000, 30_000, 59_999, 60_000, limits::SCHEDULE_JITTER_MAX.ms()] {
        timing.jitter = DelayMs::from_ms(jitter_ms);
        let nominal: Vec<Time> = timing.times_after(time("2030-01-01T00:00:00Z")).take(500).collect();
        let late: Vec<u64> = nominal.iter().map(|nominal| timing.due(*nominal).since(*nominal).ms()).collect();
        let most = jitter_ms.min(59_999);
        assert!(nominal.iter().all(|nominal| timing.due(*nominal) >= *nominal));
        assert!(late.iter().all(|late| *late <= most), "{late:?}");
        // Spread over all of it: each half is met about as often.
        let in_upper_half = late.iter().filter(|late| **late * 2 > most).count();
        assert!((150..350).contains(&in_upper_half), "{in_upper_half} of 500 for {jitter_ms} ms");
        assert_eq!(late, nominal.iter().map(|it| timing.clone().due(*it).since(*it).ms()).collect::<Vec<_>>());
    }
    let other = super::super::Timing { seed: seed("default", "reminders"), ..timing.clone() };
    let noon = time("2030-01-01T12:00:00Z");
    assert_ne!(timing.due(noon), other.due(noon), "two schedules do not come together");
}
