//! `punctual.v1.Schedules`: recurring schedules.

use punctual_broker_api::Error;
use punctual_proto::{
    convert,
    v1::{self, schedules_server},
};
use tonic::{Request, Response, Status};

use crate::context::{Context, answer};

pub(crate) struct SchedulesService {
    context: Context,
}

impl SchedulesService {
    pub(crate) fn new(context: Context) -> Self {
        Self { context }
    }

    async fn list(&self, request: v1::ListSchedulesRequest) -> Result<v1::ListSchedulesReply, Error> {
        let namespace = convert::namespace_from(&request.namespace)?;
        let page = convert::page_from(request.limit, request.cursor);
        let page = self.context.broker.list_schedules(namespace, page).await?;
        let schedules = page.items.into_iter().map(convert::schedule_view_into).collect();
        Ok(v1::ListSchedulesReply { schedules, next_cursor: page.next_cursor })
    }

    async fn get(&self, request: v1::GetScheduleRequest) -> Result<v1::Schedule, Error> {
        let schedule = convert::schedule_from(&request.namespace, &request.schedule)?;
        self.context.broker.get_schedule(schedule).await.map(convert::schedule_view_into)
    }

    async fn put(&self, request: v1::PutScheduleRequest) -> Result<v1::PutScheduleReply, Error> {
        let schedule = convert::schedule_from(&request.namespace, &request.schedule)?;
        let patch = convert::schedule_patch_from(request.settings, request.reset)?;
        let put = self.context.broker.put_schedule(schedule, patch).await?;
        Ok(v1::PutScheduleReply { schedule: Some(convert::schedule_view_into(put.object)), created: put.created })
    }

    async fn delete(&self, request: v1::DeleteScheduleRequest) -> Result<v1::DeleteScheduleReply, Error> {
        let schedule = convert::schedule_from(&request.namespace, &request.schedule)?;
        self.context.broker.delete_schedule(schedule).await?;
        Ok(v1::DeleteScheduleReply {})
    }

    async fn set_paused(&self, namespace: &str, schedule: &str, paused: bool) -> Result<v1::Schedule, Error> {
        let schedule = convert::schedule_from(namespace, schedule)?;
        self.context.broker.set_schedule_paused(schedule, paused).await.map(convert::schedule_view_into)
    }

    async fn trigger(&self, request: v1::TriggerScheduleRequest) -> Result<v1::Schedule, Error> {
        let schedule = convert::schedule_from(&request.namespace, &request.schedule)?;
        self.context.broker.trigger_schedule(schedule).await.map(convert::schedule_view_into)
    }
}

#[tonic::async_trait]
impl schedules_server::Schedules for SchedulesService {
    async fn list_schedules(
        &self,
        request: Request<v1::ListSchedulesRequest>,
    ) -> Result<Response<v1::ListSchedulesReply>, Status> {
        answer(self.list(request.into_inner()).await)
    }

    async fn get_schedule(&self, request: Request<v1::GetScheduleRequest>) -> Result<Response<v1::Schedule>, Status> {
        answer(self.get(request.into_inner()).await)
    }

    async fn put_schedule(
        &self,
        request: Request<v1::PutScheduleRequest>,
    ) -> Result<Response<v1::PutScheduleReply>, Status> {
        answer(self.put(request.into_inner()).await)
    }

    async fn delete_schedule(
        &self,
        request: Request<v1::DeleteScheduleRequest>,
    ) -> Result<Response<v1::DeleteScheduleReply>, Status> {
        answer(self.delete(request.into_inner()).await)
    }

    async fn pause_schedule(
        &self,
        request: Request<v1::PauseScheduleRequest>,
    ) -> Result<Response<v1::Schedule>, Status> {
        let request = request.into_inner();
        answer(self.set_paused(&request.namespace, &request.schedule, true).await)
    }

    async fn resume_schedule(
        &self,
        request: Request<v1::ResumeScheduleRequest>,
    ) -> Result<Response<v1::Schedule>, Status> {
        let request = request.into_inner();
        answer(self.set_paused(&request.namespace, &request.schedule, false).await)
    }

    async fn trigger_schedule(
        &self,
        request: Request<v1::TriggerScheduleRequest>,
    ) -> Result<Response<v1::Schedule>, Status> {
        answer(self.trigger(request.into_inner()).await)
    }
}
