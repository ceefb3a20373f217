//! Recurring schedules: list, read, make, change, pause, trigger, delete.

use std::sync::Arc;

use punctual_broker_api::{
    Code, Error, Page, PageRequest, Patch, Put, SchedulePatch, SchedulePath, ScheduleRun, ScheduleSettings,
    ScheduleView, TopicPath,
};
use punctual_types::{NamespaceName, Time};

use super::{
    Inner,
    schedule_settings::{check_schedule_message, fault_of, settings_of},
    topics::page_of,
};
use crate::catalog::{Schedule, ScheduleEntry, forget_schedule};

/// Whether a change moves the times to come.
fn is_retimed(old: &ScheduleSettings, new: &ScheduleSettings) -> bool {
    is_regrouped(old, new) || old.end != new.end || old.max_runs != new.max_runs
}

/// Whether a change moves what periods are counted from.
fn is_regrouped(old: &ScheduleSettings, new: &ScheduleSettings) -> bool {
    (&old.cron, &old.timezone, old.every, old.start) != (&new.cron, &new.timezone, new.every, new.start)
}

impl Inner {
    pub(super) async fn list_schedules(
        self: &Arc<Self>,
        namespace: NamespaceName,
        request: PageRequest,
    ) -> Result<Page<ScheduleView>, Error> {
        let now = self.clock.now().floor;
        let query = format!("schedules {namespace}");
        let catalog = self.catalog();
        catalog.namespace(&namespace)?;
        let named = catalog.schedules.of(&namespace).map(|it| (it.path.schedule.to_string(), it));
        let page = page_of(self, query.as_bytes(), &request, named)?;
        let items = page.items.into_iter().map(|schedule| schedule.view(now)).collect();
        Ok(Page { items, next_cursor: page.next_cursor })
    }

    pub(super) async fn get_schedule(self: &Arc<Self>, path: SchedulePath) -> Result<ScheduleView, Error> {
        let catalog = self.catalog();
        catalog.namespace(&path.namespace)?;
        Ok(catalog.schedules.find(&path)?.view(self.clock.now().floor))
    }

    pub(super) async fn put_schedule(
        self: &Arc<Self>,
        path: SchedulePath,
        patch: SchedulePatch,
    ) -> Result<Put<ScheduleView>, Error> {
        self.change_schedule(path, patch, true).await
    }

    async fn change_schedule(
        self: &Arc<Self>,
        path: SchedulePath,
        patch: SchedulePatch,
        may_create: bool,
    ) -> Result<Put<ScheduleView>, Error> {
        let inner = self.clone();
        self.change(async move {
            let now = inner.clock.now().floor;
            let current = {
                let catalog = inner.catalog();
                catalog.namespace(&path.namespace)?;
                if may_create { catalog.schedules.get(&path).cloned() } else { Some(catalog.schedules.find(&path)?) }
            };
            let created = current.is_none();
            if created {
                inner.check_schedule_room(&path)?;
            }
            let schedule = inner.changed_schedule(path, current.as_deref(), patch, now)?;
            inner.keep(vec![schedule.kept(), schedule.kept_state()]).await?;
            Ok(Put { object: inner.now_scheduled(schedule, now), created })
        })
        .await
    }

    fn check_schedule_room(&self, path: &SchedulePath) -> Result<(), Error> {
        let count = self.catalog().schedules.of(&path.namespace).count();
        if count < self.limits.schedules_max {
            return Ok(());
        }
        let text = format!(
            "cannot make schedule `{}`: namespace `{}` has {count} schedules, the limit",
            path.schedule, path.namespace
        );
        Err(Error::new(Code::TooManySchedules, text)
            .with_hint("delete schedules that have ended or are no longer used")
            .with_retry_after_ms(60_000))
    }

    /// A schedule after a change, or a new one.
    fn changed_schedule(
        &self,
        path: SchedulePath,
        current: Option<&Schedule>,
        patch: SchedulePatch,
        now: Time,
    ) -> Result<Schedule, Error> {
        let settings = settings_of(current.map(Schedule::settings), patch)?;
        let topic = TopicPath { namespace: path.namespace.clone(), topic: settings.topic.clone() };
        // What a topic that is still to be made will have, its first run will tell.
        let priorities = self.catalog().topic(&topic).map_or(u16::MAX, |topic| topic.settings.priorities);
        let run = super::schedule_runner::message_of(&path, &settings.message, Time::MAX);
        check_schedule_message(&settings.message, &run, priorities, &self.limits)?;
        let mut state = current.map(|it| it.state.clone()).unwrap_or_default();
        let mut timed_at = current.map_or(now, |it| it.entry.timed_at);
        match current.map(Schedule::settings) {
            Some(old) => {
                if is_regrouped(old, &settings) {
                    timed_at = now;
                }
                if is_retimed(old, &settings) || old.paused && !settings.paused {
                    state.progress.done_to = state.progress.done_to.max(now);
                }
            }
            // A start that is just now is its first time.
            None if settings.start.is_some() => state.progress.done_to = before(now),
            None => state.progress.done_to = now,
        }
        Schedule::new(path, ScheduleEntry { settings: settings.clone(), timed_at }, state)
            .map_err(|fault| fault_of(&fault, &settings))
    }

    /// Takes a schedule into the catalog and has its times looked at.
    pub(super) fn now_scheduled(&self, schedule: Schedule, now: Time) -> ScheduleView {
        let view = schedule.view(now);
        self.catalog_mut().schedules.put(schedule);
        self.runner.schedules_changed();
        view
    }

    pub(super) async fn delete_schedule(self: &Arc<Self>, path: SchedulePath) -> Result<(), Error> {
        let inner = self.clone();
        self.change(async move {
            {
                let catalog = inner.catalog();
                catalog.namespace(&path.namespace)?;
                catalog.schedules.find(&path)?;
            }
            inner.keep(forget_schedule(&path).into()).await?;
            inner.catalog_mut().schedules.remove(&path);
            Ok(())
        })
        .await
    }

    pub(super) async fn set_schedule_paused(
        self: &Arc<Self>,
        path: SchedulePath,
        paused: bool,
    ) -> Result<ScheduleView, Error> {
        let patch = SchedulePatch { paused: Patch::Set(paused), ..SchedulePatch::default() };
        self.change_schedule(path, patch, false).await.map(|put| put.object)
    }

    pub(super) async fn trigger_schedule(self: &Arc<Self>, path: SchedulePath) -> Result<ScheduleView, Error> {
        let topic = {
            let catalog = self.catalog();
            catalog.namespace(&path.namespace)?;
            let schedule = catalog.schedules.find(&path)?;
            TopicPath { namespace: path.namespace.clone(), topic: schedule.settings().topic.clone() }
        };
        self.topic_or_new(&topic).await?;
        let inner = self.clone();
        self.change(async move {
            let now = inner.clock.now().floor;
            let schedule = inner.catalog().schedules.find(&path)?;
            let run = inner.run_of(&schedule, now)?;
            let last = ScheduleRun { nominal_time: now, published_at: Some(now), id: None, error: None };
            let schedule = schedule.after(1, Time::ZERO, Some(last));
            inner.keep_with(vec![schedule.kept_state()], vec![run]).await?;
            Ok(inner.now_scheduled(schedule, now))
        })
        .await
    }

    /// Forgets every schedule of a namespace.
    pub(super) async fn delete_schedules(&self, namespace: &NamespaceName) -> Result<(), Error> {
        let paths: Vec<_> = self.catalog().schedules.of(namespace).map(|schedule| schedule.path.clone()).collect();
        if paths.is_empty() {
            return Ok(());
        }
        self.keep(paths.iter().flat_map(forget_schedule).collect()).await?;
        let mut catalog = self.catalog_mut();
        for path in &paths {
            catalog.schedules.remove(path);
        }
        Ok(())
    }
}

fn before(time: Time) -> Time {
    Time::from_unix_ms(time.unix_ms().saturating_sub(1)).unwrap_or(Time::ZERO)
}
