//! Broker time by elapsed time.
//!
//! CLOCK_BOOTTIME counts through a suspend and carries NTP's rate correction, and no step of the
//! wall clock reaches it.

use std::{
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use punctual_broker_api::DelayMs;
use punctual_core::ShardClock;
use punctual_types::{Now, Time};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;

use super::{LastServed, SLEEP_MAX, boot::boot_id};

const NS_PER_MS: u64 = 1_000_000;

/// The clock of a machine.
#[derive(Debug)]
pub(crate) struct SystemClock {
    boot: [u8; 16],
    /// Broker time minus boot time, in nanoseconds. Only ever raised.
    ahead_ns: RwLock<u64>,
    held: AtomicBool,
    stepped: AtomicBool,
    changed: Notify,
}

/// Nanoseconds since the machine's boot.
fn boottime_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // Neither part is ever negative for this clock.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The wall clock in nanoseconds; 1970 when it stands before.
fn wall_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000) + now.tv_nsec as u64
}

/// The wall clock.
pub(super) fn wall() -> Time {
    Time::from_unix_ms(wall_ns() / NS_PER_MS).unwrap_or(Time::MAX)
}

/// Where broker time begins, in nanoseconds, and whether the schedule is held.
///
/// In the same boot elapsed time decides and the wall clock has no say. In another, the wall clock
/// is all there is to tell how long the machine was off; a jump that is too far to believe is held.
fn starting_time(
    last: Option<LastServed>,
    boot: [u8; 16],
    boottime_ns: u64,
    wall_ns: u64,
    jump_max: DelayMs,
) -> (u64, bool) {
    let Some(last) = last else { return (wall_ns, false) };
    if last.clock.boot == boot && boot != [0; 16] && boottime_ns >= last.clock.boottime_ns {
        return (last.clock.time_ns + (boottime_ns - last.clock.boottime_ns), false);
    }
    // The shard's time was cut to whole milliseconds: the next one has surely not been seen.
    let last_ns = (last.time.unix_ms() + 1) * NS_PER_MS;
    if wall_ns.saturating_sub(last_ns) > jump_max.ms() * NS_PER_MS {
        (last_ns, true)
    } else {
        (wall_ns.max(last_ns), false)
    }
}

impl SystemClock {
    pub(super) fn start(jump_max: DelayMs, last: Option<LastServed>) -> Self {
        let (boot, boottime) = (boot_id(), boottime_ns());
        let (time_ns, held) = starting_time(last, boot, boottime, wall_ns(), jump_max);
        if held {
            tracing::error!(
                wall_ms = wall().unix_ms(),
                last_served_ms = time_ns / NS_PER_MS,
                "the wall clock is too far ahead of the time at which this data was last served; the schedule is held until `punctual clock accept`"
            );
        }
        let ahead_ns = RwLock::new(time_ns.saturating_sub(boottime));
        Self { boot, ahead_ns, held: AtomicBool::new(held), stepped: AtomicBool::new(false), changed: Notify::new() }
    }

    fn now_ns(&self) -> u64 {
        let ahead = *self.ahead_ns.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        boottime_ns() + ahead
    }

    pub(super) fn now(&self) -> Now {
        let ns = self.now_ns();
        let time = |ms| Time::from_unix_ms(ms).unwrap_or(Time::MAX);
        Now { floor: time(ns / NS_PER_MS), ceil: time(ns.div_ceil(NS_PER_MS)) }
    }

    pub(super) fn anchor(&self) -> ShardClock {
        let boottime_ns = boottime_ns();
        let ahead = *self.ahead_ns.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        ShardClock { boot: self.boot, boottime_ns, time_ns: boottime_ns + ahead }
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    #[expect(clippy::disallowed_methods, reason = "the home of waiting: whoever wakes asks the clock again")]
    fn sleep(duration: Duration) -> tokio::time::Sleep {
        tokio::time::sleep(duration)
    }

    /// Tells the log when the wall clock has left broker time, and when it is back.
    pub(super) fn note_step(&self, step_ms: i64, stepped: bool) {
        if self.stepped.swap(stepped, Ordering::AcqRel) == stepped {
            return;
        }
        if stepped {
            tracing::error!(step_ms, "the wall clock has stepped; broker time goes on by elapsed time");
        } else {
            tracing::warn!(step_ms, "the wall clock is back at broker time");
        }
    }

    pub(super) async fn wait_until(&self, deadline: Time) {
        let left_ns = (deadline.unix_ms().saturating_mul(NS_PER_MS)).saturating_sub(self.now_ns());
        let sleep = Duration::from_nanos(left_ns.min(SLEEP_MAX.ms() * NS_PER_MS));
        tokio::select! {
            () = Self::sleep(sleep) => {}
            () = self.changed.notified() => {}
        }
    }

    pub(super) fn accept(&self) {
        let target = wall_ns().saturating_sub(boottime_ns());
        let mut ahead = self.ahead_ns.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *ahead = target.max(*ahead);
        drop(ahead);
        self.held.store(false, Ordering::Release);
        self.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;
    const JUMP_MAX: DelayMs = DelayMs::from_ms(30 * DAY_MS);

    fn time(ms: u64) -> Time {
        Time::from_unix_ms(ms).expect("before the year 10000")
    }

    fn served(at_ms: u64, boot: u8, boottime_ms: u64) -> Option<LastServed> {
        let (boottime_ns, time_ns) = (boottime_ms * NS_PER_MS, at_ms * NS_PER_MS + 250);
        Some(LastServed { time: time(at_ms), clock: ShardClock { boot: [boot; 16], boottime_ns, time_ns } })
    }

    fn start(last: Option<LastServed>, boot: u8, boottime_ms: u64, wall_ms: u64) -> (u64, bool) {
        starting_time(last, [boot; 16], boottime_ms * NS_PER_MS, wall_ms * NS_PER_MS, JUMP_MAX)
    }

    #[test]
    fn a_fresh_directory_begins_with_the_wall_clock() {
        assert_eq!(start(None, 1, 5000, 1_000_000), (1_000_000 * NS_PER_MS, false));
    }

    #[test]
    fn in_the_same_boot_elapsed_time_decides_to_the_nanosecond_whatever_the_wall_clock_says() {
        let last = served(1_000_000, 1, 5000);
        for wall_ms in [0, 1_000_000, 1_000_000_000_000] {
            assert_eq!(start(last, 1, 7500, wall_ms), (1_002_500 * NS_PER_MS + 250, false));
        }
    }

    #[test]
    fn after_another_boot_time_goes_on_from_the_later_of_wall_and_last() {
        let last = served(1_000_000, 1, 5000);
        assert_eq!(start(last, 2, 100, 500_000), (1_000_001 * NS_PER_MS, false));
        assert_eq!(start(last, 2, 100, 2_000_000), (2_000_000 * NS_PER_MS, false));
        assert_eq!(start(last, 2, 9000, 2_000_000), (2_000_000 * NS_PER_MS, false));
    }

    #[test]
    fn a_jump_too_far_to_believe_is_held() {
        let last = served(1_000_000, 1, 5000);
        let farthest = 1_000_001 + 30 * DAY_MS;
        assert_eq!(start(last, 2, 100, farthest), (farthest * NS_PER_MS, false));
        assert_eq!(start(last, 2, 100, farthest + 1), (1_000_001 * NS_PER_MS, true));
    }

    #[test]
    fn a_boot_without_an_id_is_never_the_same_boot() {
        assert_eq!(start(served(1_000_000, 0, 5000), 0, 7500, 500_000), (1_000_001 * NS_PER_MS, false));
    }

    #[test]
    fn time_never_goes_back_over_a_restart_and_accepting_only_goes_forward() {
        let first = SystemClock::start(JUMP_MAX, None);
        let kept = LastServed { time: first.now().floor, clock: first.anchor() };
        let second = SystemClock::start(JUMP_MAX, Some(kept));
        assert!(second.now_ns() >= kept.clock.time_ns);
        let ahead = LastServed { time: time(wall().unix_ms() + 60_000), clock: ShardClock::default() };
        let third = SystemClock::start(JUMP_MAX, Some(ahead));
        third.accept();
        assert!(third.now().floor >= ahead.time);
    }
}
