//! Recurring schedules.

use axum::http::StatusCode;

use super::{Answer, outcome, page};
use crate::{
    answer::{self, PageAnswer, ScheduleAnswer},
    door::Asked,
    schedule_settings,
};

pub(super) async fn list(asked: Asked) -> Answer {
    let namespace = asked.captures.namespace()?;
    let page = asked.door.broker.list_schedules(namespace, page(asked.query)?).await?;
    let schedules: Vec<_> = page.items.iter().map(|view| ScheduleAnswer::of(view, &asked.request_id)).collect();
    Ok(answer::json(StatusCode::OK, &PageAnswer::of("schedules", schedules, page.next_cursor.as_deref())))
}

pub(super) async fn get(asked: Asked) -> Answer {
    asked.query.finish()?;
    let view = asked.door.broker.get_schedule(asked.captures.schedule()?).await?;
    Ok(answer::json(StatusCode::OK, &ScheduleAnswer::of(&view, &asked.request_id)))
}

pub(super) async fn put(asked: Asked) -> Answer {
    asked.query.finish()?;
    let schedule = asked.captures.schedule()?;
    let patch = schedule_settings::schedule(&asked.body)?;
    let put = asked.door.broker.put_schedule(schedule, patch).await?;
    Ok(answer::json(super::put_status(put.created), &ScheduleAnswer::of(&put.object, &asked.request_id)))
}

pub(super) async fn delete(asked: Asked) -> Answer {
    asked.query.finish()?;
    asked.door.broker.delete_schedule(asked.captures.schedule()?).await?;
    Ok(outcome(StatusCode::OK, "deleted"))
}

/// `POST …/pause` and `…/resume`.
pub(super) async fn set_paused(asked: Asked, paused: bool) -> Answer {
    asked.query.finish()?;
    let view = asked.door.broker.set_schedule_paused(asked.captures.schedule()?, paused).await?;
    Ok(answer::json(StatusCode::OK, &ScheduleAnswer::of(&view, &asked.request_id)))
}

/// `POST …/trigger`.
pub(super) async fn trigger(asked: Asked) -> Answer {
    asked.query.finish()?;
    let view = asked.door.broker.trigger_schedule(asked.captures.schedule()?).await?;
    Ok(answer::json(StatusCode::OK, &ScheduleAnswer::of(&view, &asked.request_id)))
}
