//! When a subscription is not offered anything because its consumers fail. In memory only: a shard
//! that is opened again begins with every breaker closed.

use std::collections::VecDeque;

use punctual_types::{DelayMs, Lane, Now, Offset, Time};

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// So many failed deliveries open it; at least 1.
    pub failures: u32,
    /// When they fall within this time.
    pub window: DelayMs,
    /// How long nothing is offered then.
    pub pause: DelayMs,
}

/// Whether a breaker lets messages through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BreakerState {
    /// All of them, or there is no breaker.
    #[default]
    Closed,
    /// None.
    Open,
    /// One at a time, to see whether it is acked.
    HalfOpen,
}

/// The delivery that an open breaker lets through after its pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) lane: Lane,
    pub(crate) offset: Offset,
    pub(crate) serial: u64,
}

/// A subscription's breaker on a partition.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// Failures within the window; fewer than open it.
    failures: VecDeque<Time>,
    /// Until when nothing is offered; from then on one message is tried.
    open_until: Option<Time>,
    probe: Option<Probe>,
}

impl Breaker {
    pub(crate) fn state(&self, now: Time) -> BreakerState {
        match self.open_until {
            None => BreakerState::Closed,
            Some(until) if now < until => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// The probe that was sent, whether or not its lease still runs.
    pub(crate) fn probe(&self) -> Option<Probe> {
        self.probe
    }

    /// Notes what is leased while the breaker is half open.
    pub(crate) fn sent(&mut self, probe: Probe, now: Time) {
        if self.state(now) == BreakerState::HalfOpen {
            self.probe = Some(probe);
        }
    }

    /// A lease ended with an ack.
    pub(crate) fn acked(&mut self, serial: u64) {
        if self.probe.is_some_and(|probe| probe.serial == serial) {
            *self = Self::default();
        }
    }

    /// A delivery failed; answers until when nothing is to be offered, if that opens the breaker.
    /// What was leased before it opened says nothing new.
    pub(crate) fn failed(&mut self, serial: u64, rules: &BreakerRules, now: Now) -> Option<Time> {
        match self.open_until {
            None => {
                let recent = |at: &&Time| now.floor.since(**at) >= rules.window;
                let old = self.failures.iter().take_while(recent).count();
                self.failures.drain(..old);
                self.failures.push_back(now.floor);
                if self.failures.len() < rules.failures as usize {
                    return None;
                }
            }
            Some(_) if self.probe.is_some_and(|probe| probe.serial == serial) => {}
            Some(_) => return None,
        }
        let until = now.ceil.saturating_add(rules.pause);
        *self = Self { open_until: Some(until), ..Self::default() };
        Some(until)
    }
}
