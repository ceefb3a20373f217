//! The broker itself: its clock, its health, its limits.

use punctual_broker_api::{ClockMode, ClockView, DelayMs, Error, Health, Limits};

use super::{delay_from, delay_into, time_from, time_into, unreadable};
use crate::v1;

/// A clock for the wire.
#[must_use]
pub fn clock_into(clock: ClockView) -> v1::Clock {
    let mode = match clock.mode {
        ClockMode::System => v1::ClockMode::System,
        ClockMode::Manual => v1::ClockMode::Manual,
    };
    v1::Clock {
        now_unix_ms: time_into(clock.now),
        wall_unix_ms: time_into(clock.wall),
        step_ms: clock.step_ms,
        mode: mode.into(),
        held: clock.held,
    }
}

/// A clock.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn clock_from(clock: v1::Clock) -> Result<ClockView, Error> {
    let mode = match v1::ClockMode::try_from(clock.mode) {
        Ok(v1::ClockMode::System) => ClockMode::System,
        Ok(v1::ClockMode::Manual) => ClockMode::Manual,
        Ok(v1::ClockMode::Unspecified) | Err(_) => return Err(unreadable(&format!("clock mode {}", clock.mode))),
    };
    Ok(ClockView {
        now: time_from("now", clock.now_unix_ms)?,
        wall: time_from("wall", clock.wall_unix_ms)?,
        step_ms: clock.step_ms,
        mode,
        held: clock.held,
    })
}

/// Health and limits for the wire.
#[must_use]
pub fn health_into(health: Health, limits: Limits) -> v1::Status {
    let (health, reason) = match health {
        Health::Ready => (v1::Health::Ready, None),
        Health::Stopping => (v1::Health::Stopping, None),
        Health::Failed(reason) => (v1::Health::Failed, Some(reason)),
    };
    v1::Status { health: health.into(), reason, limits: Some(limits_into(limits)) }
}

/// Health and limits.
///
/// # Errors
/// `internal` for what this version does not know.
pub fn status_from(status: v1::Status) -> Result<(Health, Limits), Error> {
    let health = match v1::Health::try_from(status.health) {
        Ok(v1::Health::Ready) => Health::Ready,
        Ok(v1::Health::Stopping) => Health::Stopping,
        Ok(v1::Health::Failed) => Health::Failed(status.reason.unwrap_or_default()),
        Ok(v1::Health::Unspecified) | Err(_) => return Err(unreadable(&format!("health {}", status.health))),
    };
    let limits = status.limits.ok_or_else(|| unreadable("no limits"))?;
    Ok((health, limits_from(&limits)?))
}

fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

fn limits_into(limits: Limits) -> v1::Limits {
    v1::Limits {
        body_bytes_max: wide(limits.body_bytes_max),
        headers_bytes_max: wide(limits.headers_bytes_max),
        headers_max: wide(limits.headers_max),
        batch_messages_max: wide(limits.batch_messages_max),
        batch_bytes_max: wide(limits.batch_bytes_max),
        topics_max: wide(limits.topics_max),
        connections_max: wide(limits.connections_max),
        receive_messages_max: limits.receive_messages_max,
        receive_bytes_max: limits.receive_bytes_max,
        receive_wait_max_ms: delay_into(limits.receive_wait_max),
        disk_reserve_bytes: limits.disk_reserve_bytes,
        schedules_max: wide(limits.schedules_max),
    }
}

/// Limits.
///
/// # Errors
/// `invalid_duration`.
pub fn limits_from(limits: &v1::Limits) -> Result<Limits, Error> {
    let narrow = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let receive_wait_max: DelayMs = delay_from("receive_wait_max", limits.receive_wait_max_ms)?;
    Ok(Limits {
        body_bytes_max: narrow(limits.body_bytes_max),
        headers_bytes_max: narrow(limits.headers_bytes_max),
        headers_max: narrow(limits.headers_max),
        batch_messages_max: narrow(limits.batch_messages_max),
        batch_bytes_max: narrow(limits.batch_bytes_max),
        topics_max: narrow(limits.topics_max),
        schedules_max: narrow(limits.schedules_max),
        connections_max: narrow(limits.connections_max),
        receive_messages_max: limits.receive_messages_max,
        receive_bytes_max: limits.receive_bytes_max,
        receive_wait_max,
        disk_reserve_bytes: limits.disk_reserve_bytes,
    })
}
