//! Moving the clock from outside.

use std::sync::Arc;

use punctual_broker_api::{ClockView, Code, DelayMs, Error};

use super::Inner;
use crate::clock::Clock;

/// Instants that one advance stops at on its way; after so many it jumps the rest.
const STOPS_MAX: usize = 1000;

impl Inner {
    /// Moves a manual clock ahead, stopping at every instant at which something is due, so that
    /// each message crosses at its own time and not at the end of the move.
    pub(super) async fn advance_clock(self: &Arc<Self>, by: DelayMs) -> Result<ClockView, Error> {
        let Clock::Manual(clock) = &self.clock else {
            return Err(Error::new(Code::ClockMode, "cannot advance the clock: it runs by itself")
                .with_hint("start the broker with `--clock manual` to move its clock by hand"));
        };
        let end = self.clock.now().floor.checked_add(by).ok_or_else(|| {
            Error::new(Code::InvalidField, format!("cannot advance the clock by {by}: that ends after the year 9999"))
                .with_field("by")
        })?;
        self.shards.settle().await;
        for _ in 0..STOPS_MAX {
            match self.shards.next_wake().await.filter(|wake| *wake < end) {
                Some(wake) if wake > self.clock.now().floor => clock.advance_to(wake),
                Some(_) | None => break,
            }
            self.shards.settle().await;
        }
        clock.advance_to(end);
        self.shards.settle().await;
        Ok(self.clock.view())
    }

    pub(super) async fn accept_clock(self: &Arc<Self>) -> Result<ClockView, Error> {
        self.clock.accept();
        Ok(self.clock.view())
    }
}
