//! The clock.

use punctual_broker_api::ClockView;
use serde::Serialize;

use super::At;

#[derive(Serialize)]
pub(crate) struct ClockAnswer {
    now: At,
    wall: At,
    step_ms: i64,
    mode: &'static str,
    held: bool,
}

impl ClockAnswer {
    pub(crate) fn of(view: &ClockView) -> Self {
        Self {
            now: At(view.now),
            wall: At(view.wall),
            step_ms: view.step_ms,
            mode: view.mode.as_str(),
            held: view.held,
        }
    }
}
