//! What becomes of runs when the broker dies, is down, or waits.

use std::sync::Arc;

use punctual_broker::{Broker, BrokerConfig, ClockConfig};
use punctual_broker_api::{
    Broker as _, CatchUp, Code, Limits, Patch, SchedulePatch, Schedules as _, Time, time_text::format_time,
};
use punctual_store_memory::MemoryStore;

use crate::{rig::*, support::*};

/// A broker that was down for so long.
async fn reopened(store: &MemoryStore, now: Time) -> Rig {
    let store = Arc::new(store.crash());
    let config = BrokerConfig {
        store: store.clone(),
        clock: ClockConfig::Manual { start: now },
        workers: Some(2),
        limits: Limits::default(),
        seed: Some(1),
    };
    Rig { broker: Broker::open(config).await.expect("an open broker"), store }
}

#[test]
fn every_nominal_time_runs_once_however_often_the_broker_dies() {
    run(async {
        let mut rig = Rig::new().await;
        rig.put("minutely", SchedulePatch { catch_up: Patch::Set(CatchUp::All), ..every(60_000) }).await;
        for step_ms in [59_999, 1, 1, 59_999, 30_000, 90_000, 0, 1, 600_000] {
            rig.advance(ms(step_ms)).await;
            rig = rig.crash().await;
        }
        // What a manual clock showed last may be lost with the broker: nothing was written then.
        let now = rig.broker.clock().await.expect("a clock").now;
        rig.advance(at(900_000).since(now)).await;
        let expected: Vec<u64> = (1..=15).map(|minute| minute * 60_000).collect();
        assert_eq!(rig.runs().await, once(expected));
        assert_eq!(rig.schedule("minutely").await.runs, 15);
    });
}

#[test]
fn whatever_of_a_run_was_written_when_the_broker_died_it_runs_once() {
    run(async {
        // Where a run stands in the store is copied again and again while schedules run; each copy is
        // what a crash at that moment leaves.
        let rig = Rig::new().await;
        rig.put("minutely", SchedulePatch { catch_up: Patch::Set(CatchUp::All), ..every(60_000) }).await;
        let broker = rig.broker.clone();
        let advancing = tokio::spawn(async move { broker.advance_clock(secs(1200)).await });
        let mut copies = vec![Arc::new(rig.store.crash())];
        while !advancing.is_finished() {
            tokio::task::yield_now().await;
            copies.push(Arc::new(rig.store.crash()));
        }
        let step = copies.len().div_ceil(40);
        for copy in copies.into_iter().step_by(step) {
            let copy = Rig::over(copy).await;
            let now = copy.broker.clock().await.expect("a clock").now;
            copy.advance(at(1_200_000).since(now)).await;
            assert_eq!(copy.runs().await, once((1..=20).map(|minute| minute * 60_000)));
        }
    });
}

#[test]
fn after_a_month_down_a_schedule_catches_up_as_it_was_told_to() {
    const MONTH_MS: u64 = 30 * 24 * 3_600_000;
    run(async {
        for (catch_up, expected) in [
            (CatchUp::None, Vec::new()),
            (CatchUp::Last, vec![MONTH_MS]),
            (CatchUp::All, (0..1000).rev().map(|back| MONTH_MS - back * 600_000).collect()),
        ] {
            let rig = Rig::new().await;
            rig.put("often", SchedulePatch { catch_up: Patch::Set(catch_up), ..cron("*/10 * * * *") }).await;
            let rig = reopened(&rig.store, at(MONTH_MS + 61_000)).await;
            rig.advance(ms(1)).await;
            assert_eq!(rig.runs().await, once(expected), "{catch_up:?}");
            assert_eq!(shown(&rig.schedule("often").await)[0], format_time(at(MONTH_MS + 600_000)));
        }
    });
}

#[test]
fn a_restart_of_seconds_costs_no_run() {
    run(async {
        let rig = Rig::new().await;
        rig.put("hourly", cron("0 * * * *")).await;
        rig.advance(ms(3_599_000)).await;
        let rig = reopened(&rig.store, at(3_602_000)).await;
        rig.advance(ms(0)).await;
        assert_eq!(rig.runs().await, once([3_600_000]));
    });
}

#[test]
fn what_passes_while_it_is_paused_is_not_made_up_for() {
    run(async {
        let rig = Rig::new().await;
        rig.put("minutely", SchedulePatch { catch_up: Patch::Set(CatchUp::All), ..every(60_000) }).await;
        rig.advance(ms(60_000)).await;
        let paused = rig.broker.set_schedule_paused(path("minutely"), true).await.expect("paused");
        assert!(paused.settings.paused);
        rig.advance(ms(150_000)).await;
        assert_eq!(shown(&rig.schedule("minutely").await)[0], format_time(at(240_000)));
        let rig = rig.crash().await;
        let resumed = rig.broker.set_schedule_paused(path("minutely"), false).await.expect("resumed");
        assert_eq!(shown(&resumed)[0], format_time(at(240_000)));
        rig.advance(ms(30_000)).await;
        assert_eq!(rig.runs().await, once([60_000, 240_000]));
        let missing = rig.broker.set_schedule_paused(path("none"), true).await.expect_err("there is none");
        assert_eq!(missing.code, Code::ScheduleNotFound);
    });
}

#[test]
fn a_jittered_run_is_due_at_the_same_time_after_a_crash() {
    run(async {
        let rig = Rig::new().await;
        rig.put("s", SchedulePatch { jitter: Patch::Set(ms(600_000)), ..cron("0 * * * *") }).await;
        let rig = rig.crash().await;
        rig.advance(secs(3600 * 3)).await;
        let deliveries = rig.receive("runs/reader", 10).await;
        let late: Vec<u64> = deliveries.iter().map(|run| run.deliver_at.unix_ms() % 3_600_000).collect();
        assert!(late.len() >= 2 && late.iter().all(|late| (1..=600_000).contains(late)), "{late:?}");
        let other = Rig::new().await;
        other.put("s", SchedulePatch { jitter: Patch::Set(ms(600_000)), ..cron("0 * * * *") }).await;
        other.advance(secs(3600 * 3)).await;
        let again: Vec<_> = other.receive("runs/reader", 10).await.iter().map(|run| run.deliver_at).collect();
        assert_eq!(deliveries.iter().map(|run| run.deliver_at).collect::<Vec<_>>(), again);
    });
}
