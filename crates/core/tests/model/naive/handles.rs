//! Finding one message, and deciding over it.

use punctual_core::{CancelAnswer, DeliverNowAnswer, RescheduleAnswer};
use punctual_types::{Lane, Position, Seq};

use super::{
    super::step::{Handle, When},
    Fate, KEPT_MS, MAIN, Naive, time,
};

pub(super) enum Located {
    Scheduled(usize),
    Cancelled,
    Replaced,
    DeliveredNow,
    Crossed,
    Unknown,
}

impl Naive {
    pub(super) fn locate(&mut self, handle: Handle) -> Located {
        let by_key = matches!(handle, Handle::Key(_));
        let Some(index) = self.resolve(handle) else { return Located::Unknown };
        let (ahead, time) = (self.is_ahead(index), self.time);
        let dropped = self.is_dropped(index);
        let message = &mut self.messages[index];
        let kept_from = if by_key {
            message.gone_at
        } else {
            message.gone_at.max(message.stands.due.unix_ms()).max(message.id.first.due.unix_ms())
        };
        match message.fate {
            Fate::Cancelled(_) if time < kept_from + KEPT_MS => return Located::Cancelled,
            Fate::Replaced if time < kept_from + KEPT_MS => return Located::Replaced,
            Fate::Cancelled(_) | Fate::Replaced => return Located::Unknown,
            Fate::DeliveredNow(at) if ahead || time < at + KEPT_MS => return Located::DeliveredNow,
            Fate::Pending if ahead => return Located::Scheduled(index),
            Fate::DeliveredNow(_) | Fate::Pending => {}
        }
        let told = if by_key { &mut message.told_crossed_by_key } else { &mut message.told_crossed };
        let known = time < message.stands.due.unix_ms() + KEPT_MS
            || told.is_some_and(|told| time < told + KEPT_MS)
            || (!by_key && !dropped);
        if known {
            *told = Some(time);
            return Located::Crossed;
        }
        Located::Unknown
    }

    pub(super) fn resolve(&self, handle: Handle) -> Option<usize> {
        match handle {
            Handle::Id(pick) => self.pick_message(pick),
            Handle::Key(key) => self.latest(|message| message.key == Some(key)),
        }
    }

    pub(super) fn is_dropped(&self, index: usize) -> bool {
        let (id, stands) = (self.messages[index].id.timeline(), self.messages[index].stands);
        let line = &self.lines[&id];
        // A lane that the group itself made had nothing to drop when the group was asked for.
        let known = self.known.as_ref().map(|(.., floors)| floors.get(&id).copied().unwrap_or(0));
        let floor = known.unwrap_or(line.floor);
        line.crossed.iter().take(floor).any(|(position, _)| *position == stands)
    }

    pub(super) fn cancel(&mut self, handle: Handle) -> CancelAnswer {
        match self.locate(handle) {
            Located::Scheduled(index) => {
                self.remove(index, Fate::Cancelled(self.time));
                CancelAnswer::Cancelled
            }
            Located::Cancelled => CancelAnswer::Cancelled,
            Located::DeliveredNow | Located::Crossed => CancelAnswer::TooLate,
            Located::Replaced | Located::Unknown => CancelAnswer::NotFound,
        }
    }

    pub(super) fn reschedule(&mut self, handle: Handle, when: When) -> RescheduleAnswer {
        match self.locate(handle) {
            Located::Scheduled(index) => {
                self.move_to(index, self.due(when));
                RescheduleAnswer::Rescheduled { due: self.messages[index].stands.due }
            }
            Located::DeliveredNow | Located::Crossed => RescheduleAnswer::TooLate,
            Located::Cancelled | Located::Replaced | Located::Unknown => RescheduleAnswer::NotFound,
        }
    }

    pub(super) fn deliver_now(&mut self, handle: Handle) -> DeliverNowAnswer {
        match self.locate(handle) {
            Located::Scheduled(index) => {
                self.move_to(index, self.now.floor.unix_ms());
                self.messages[index].fate = Fate::DeliveredNow(self.time);
                DeliverNowAnswer::DeliveredNow
            }
            Located::DeliveredNow => DeliverNowAnswer::DeliveredNow,
            Located::Crossed => DeliverNowAnswer::TooLate,
            Located::Cancelled | Located::Replaced | Located::Unknown => DeliverNowAnswer::NotFound,
        }
    }

    pub(super) fn move_to(&mut self, index: usize, due: u64) {
        let (id, stands) = (self.messages[index].id.timeline(), self.messages[index].stands);
        let line = self.lines.get_mut(&id).expect("it stands there");
        let copy = line.ahead.remove(&stands).expect("it was ahead");
        self.messages[index].stands = self.insert(id, due, copy);
    }

    /// The range that a step means: after and up to these positions, up to this number.
    pub(crate) fn range(&self, from: i64, to: i64, later: u64) -> (Position, Position, Seq) {
        let floor = self.now.floor.unix_ms();
        let at = |offset| time(floor.checked_add_signed(offset).expect("time begins late enough"));
        (Position::before(at(from)), Position::after(at(to)), Seq(self.last_seq.0.saturating_sub(later)))
    }

    pub(super) fn cancel_range(&mut self, from: i64, to: i64, later: u64) -> u64 {
        let (after, to, seq_max) = self.range(from, to, later);
        let lanes = self.lines_of(MAIN.topic).into_iter().filter(|id| matches!(id.lane, Lane::Priority(_)));
        let meant: Vec<_> = lanes
            .flat_map(|id| &self.lines[&id].ahead)
            .filter(|(position, _)| **position > after && **position <= to && position.seq <= seq_max)
            .filter(|(position, _)| position.due.unix_ms() > self.time)
            .map(|(_, copy)| copy.message)
            .collect();
        for index in &meant {
            self.remove(*index, Fate::Cancelled(self.time));
        }
        meant.len() as u64
    }

    pub(super) fn get(&self, handle: Handle) -> Option<(usize, bool)> {
        let index = self.resolve(handle)?;
        let message = &self.messages[index];
        let ahead = self.is_ahead(index);
        let gone = matches!(message.fate, Fate::Cancelled(_) | Fate::Replaced);
        let told = message.told_crossed_by_key.unwrap_or(0);
        let forgotten =
            matches!(handle, Handle::Key(_)) && !ahead && self.time >= message.stands.due.unix_ms().max(told) + KEPT_MS;
        (!gone && !forgotten && !self.is_dropped(index)).then_some((index, ahead))
    }
}
