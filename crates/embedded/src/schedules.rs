//! Recurring schedules of the opened broker: every call goes through.

use punctual_broker_api::{
    NamespaceName, Page, PageRequest, Put, Reply, SchedulePatch, SchedulePath, ScheduleView, Schedules,
};

use crate::Broker;

impl Schedules for Broker {
    fn list_schedules(&self, namespace: NamespaceName, page: PageRequest) -> Reply<'_, Page<ScheduleView>> {
        self.inner().list_schedules(namespace, page)
    }

    fn get_schedule(&self, schedule: SchedulePath) -> Reply<'_, ScheduleView> {
        self.inner().get_schedule(schedule)
    }

    fn put_schedule(&self, schedule: SchedulePath, patch: SchedulePatch) -> Reply<'_, Put<ScheduleView>> {
        self.inner().put_schedule(schedule, patch)
    }

    fn delete_schedule(&self, schedule: SchedulePath) -> Reply<'_, ()> {
        self.inner().delete_schedule(schedule)
    }

    fn set_schedule_paused(&self, schedule: SchedulePath, paused: bool) -> Reply<'_, ScheduleView> {
        self.inner().set_schedule_paused(schedule, paused)
    }

    fn trigger_schedule(&self, schedule: SchedulePath) -> Reply<'_, ScheduleView> {
        self.inner().trigger_schedule(schedule)
    }
}
