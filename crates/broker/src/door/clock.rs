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
        self.do_what_is_due().await?;
        for _ in 0..STOPS_MAX {
            let next = [self.shards.next_wake().await, self.next_run()].into_iter().flatten().min();
            match next.filter(|wake| *wake < end) {
                Some(wake) if wake > self.clock.now().floor => clock.advance_to(wake),
                Some(_) | None => break,
            }
            self.do_what_is_due().await?;
        }
        clock.advance_to(end);
        self.do_what_is_due().await?;
        Ok(self.clock.view())
    }

    /// Does what is due: publishes the runs of schedules, and offers what crosses the lines.
    async fn do_what_is_due(self: &Arc<Self>) -> Result<(), Error> {
        self.run_schedules().await?;
        self.shards.settle().await;
        Ok(())
    }

    pub(super) async fn accept_clock(self: &Arc<Self>) -> Result<ClockView, Error> {
        self.clock.accept();
        self.runner.schedules_changed();
        Ok(self.clock.view())
    }
}
