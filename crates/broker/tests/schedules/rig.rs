//! Short words for what tests of schedules do.

use std::collections::BTreeMap;

use punctual_broker_api::{
    Error, NamespaceName, Patch, Put, ScheduleName, SchedulePatch, SchedulePath, ScheduleView, Schedules as _,
    TopicName, time_text::format_time,
};

use crate::support::*;

pub(crate) fn path(name: &str) -> SchedulePath {
    SchedulePath { namespace: NamespaceName::default(), schedule: ScheduleName::parse(name).expect("a name") }
}

pub(crate) fn name(topic: &str) -> TopicName {
    TopicName::parse(topic).expect("a name")
}

/// Every so often to topic `runs`.
pub(crate) fn every(period_ms: u64) -> SchedulePatch {
    SchedulePatch {
        topic: Patch::Set(name("runs")),
        message: Patch::Set(message("tick")),
        every: Patch::Set(ms(period_ms)),
        ..SchedulePatch::default()
    }
}

pub(crate) fn cron(pattern: &str) -> SchedulePatch {
    SchedulePatch { every: Patch::Keep, cron: Patch::Set(pattern.to_owned()), ..every(1) }
}

impl Rig {
    pub(crate) async fn put(&self, schedule: &str, patch: SchedulePatch) -> Put<ScheduleView> {
        self.broker.put_schedule(path(schedule), patch).await.expect("a schedule")
    }

    pub(crate) async fn refused(&self, schedule: &str, patch: SchedulePatch) -> Error {
        self.broker.put_schedule(path(schedule), patch).await.expect_err("refused")
    }

    pub(crate) async fn schedule(&self, schedule: &str) -> ScheduleView {
        self.broker.get_schedule(path(schedule)).await.expect("a schedule")
    }

    /// The nominal times of all runs that can be received, with how often each came.
    pub(crate) async fn runs(&self) -> BTreeMap<String, u32> {
        let mut runs = BTreeMap::new();
        loop {
            let batch = self.receive("runs/reader", 100).await;
            if batch.is_empty() {
                return runs;
            }
            for run in &batch {
                let header = |wanted: &str| run.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
                let nominal = header("punctual-nominal-time").expect("a nominal time").clone();
                assert!(header("punctual-schedule").is_some());
                assert!(format_time(run.delivered_at) >= nominal, "a run came before its time");
                *runs.entry(nominal).or_default() += 1;
            }
            self.ack("runs/reader", &batch).await;
        }
    }
}

pub(crate) fn times(after_start_ms: impl IntoIterator<Item = u64>) -> Vec<String> {
    after_start_ms.into_iter().map(|ms| format_time(at(ms))).collect()
}

pub(crate) fn once(after_start_ms: impl IntoIterator<Item = u64>) -> BTreeMap<String, u32> {
    times(after_start_ms).into_iter().map(|time| (time, 1)).collect()
}

pub(crate) fn shown(view: &ScheduleView) -> Vec<String> {
    view.next.iter().copied().map(format_time).collect()
}
