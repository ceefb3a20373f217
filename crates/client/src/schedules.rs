//! Recurring schedules, call by call.

use punctual_broker_api::{
    NamespaceName, Page, PageRequest, Put, Reply, SchedulePatch, SchedulePath, ScheduleView, Schedules,
};
use punctual_proto::{convert, v1};

use crate::{
    Client,
    wire::{page, put},
};

/// Namespace and schedule.
fn names(path: &SchedulePath) -> (String, String) {
    (path.namespace.as_str().to_owned(), path.schedule.as_str().to_owned())
}

impl Schedules for Client {
    fn list_schedules(&self, namespace: NamespaceName, asked: PageRequest) -> Reply<'_, Page<ScheduleView>> {
        let namespace = namespace.as_str().to_owned();
        let request = v1::ListSchedulesRequest { namespace, limit: asked.limit, cursor: asked.cursor };
        Box::pin(async move {
            let reply = self.asked(self.schedules().list_schedules(request).await)?;
            page(reply.schedules, reply.next_cursor, convert::schedule_view_from)
        })
    }

    fn get_schedule(&self, path: SchedulePath) -> Reply<'_, ScheduleView> {
        let (namespace, schedule) = names(&path);
        let request = v1::GetScheduleRequest { namespace, schedule };
        Box::pin(async move { convert::schedule_view_from(self.asked(self.schedules().get_schedule(request).await)?) })
    }

    fn put_schedule(&self, path: SchedulePath, patch: SchedulePatch) -> Reply<'_, Put<ScheduleView>> {
        let (namespace, schedule) = names(&path);
        let (settings, reset) = convert::schedule_patch_into(patch);
        let request = v1::PutScheduleRequest { namespace, schedule, settings: Some(settings), reset };
        Box::pin(async move {
            let reply = self.changed(self.schedules().put_schedule(request).await)?;
            put(reply.schedule, reply.created, convert::schedule_view_from)
        })
    }

    fn delete_schedule(&self, path: SchedulePath) -> Reply<'_, ()> {
        let (namespace, schedule) = names(&path);
        let request = v1::DeleteScheduleRequest { namespace, schedule };
        Box::pin(async move { self.changed(self.schedules().delete_schedule(request).await).map(|_| ()) })
    }

    fn set_schedule_paused(&self, path: SchedulePath, paused: bool) -> Reply<'_, ScheduleView> {
        let (namespace, schedule) = names(&path);
        Box::pin(async move {
            let view = if paused {
                let request = v1::PauseScheduleRequest { namespace, schedule };
                self.changed(self.schedules().pause_schedule(request).await)?
            } else {
                let request = v1::ResumeScheduleRequest { namespace, schedule };
                self.changed(self.schedules().resume_schedule(request).await)?
            };
            convert::schedule_view_from(view)
        })
    }

    fn trigger_schedule(&self, path: SchedulePath) -> Reply<'_, ScheduleView> {
        let (namespace, schedule) = names(&path);
        let request = v1::TriggerScheduleRequest { namespace, schedule };
        Box::pin(
            async move { convert::schedule_view_from(self.changed(self.schedules().trigger_schedule(request).await)?) },
        )
    }
}
