//! The clock.

use axum::http::StatusCode;

use super::Answer;
use crate::{
    answer::{self, ClockAnswer},
    door::Asked,
    json::{Fields, read},
};

pub(super) async fn show(asked: Asked) -> Answer {
    asked.query.finish()?;
    Ok(answer::json(StatusCode::OK, &ClockAnswer::of(&asked.door.broker.clock().await?)))
}

pub(super) async fn advance(asked: Asked) -> Answer {
    asked.query.finish()?;
    let mut fields = Fields::of_request(&asked.body)?;
    let by = fields.required("by", read::duration)?;
    fields.finish()?;
    Ok(answer::json(StatusCode::OK, &ClockAnswer::of(&asked.door.broker.advance_clock(by).await?)))
}

pub(super) async fn accept(asked: Asked) -> Answer {
    asked.query.finish()?;
    Ok(answer::json(StatusCode::OK, &ClockAnswer::of(&asked.door.broker.accept_clock().await?)))
}
