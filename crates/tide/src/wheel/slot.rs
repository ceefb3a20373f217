//! A slot of the wheel: few entries, or the finer slots that it opened into.

use std::{
    collections::BTreeMap,
    ops::{
        Bound::{Excluded, Included},
        ControlFlow,
    },
};

use punctual_types::{Position, Seq, Time};

use super::{Entry, Span};
use crate::{journal::Location, limits::SLOT_ENTRIES_MAX};

/// Bits of the due time that tell the slots of a level apart.
const BITS: u32 = 6;
/// The level *above* the coarsest: the root's own. A slot of level n spans 64^n milliseconds.
pub(super) const TOP: u32 = 8;

/// The entries due in a stretch of time.
pub(super) enum Slot {
    /// Few enough to keep as they come.
    Closed(Entries),
    /// Finer slots.
    Open(Box<Level>),
    /// Many in one millisecond, which has no finer slots.
    Crowd(BTreeMap<Seq, Location>),
}

#[derive(Default)]
pub(super) struct Entries {
    list: Vec<Entry>,
    /// Whether something was appended that does not belong at the end.
    is_unsorted: bool,
}

/// The 64 finer slots of a slot, as far as there is something in them.
#[derive(Default)]
pub(super) struct Level {
    /// A bit for each slot that is there.
    occupied: u64,
    /// Those slots, in order.
    slots: Vec<Slot>,
    len: u64,
}

impl Default for Slot {
    fn default() -> Self {
        Self::Closed(Entries::default())
    }
}

/// The milliseconds of a slot of a level that begins at `start`: first and last.
fn time_of(level: u32, start: u64) -> (u64, u64) {
    (start, start + ((1_u64 << (BITS * level)) - 1))
}

/// Whether a slot lies outside a span, within it, or across its edge.
enum Lies {
    Outside,
    Within,
    Across,
}

fn lies(level: u32, start: u64, span: Span) -> Lies {
    let (first, last) = time_of(level, start);
    let (after, to) = (span.after.due.unix_ms(), span.to.due.unix_ms());
    if last < after || first > to {
        Lies::Outside
    } else if first > after && (last < to || span.to.seq == Seq(u64::MAX) && last == to) {
        Lies::Within
    } else {
        Lies::Across
    }
}

impl Slot {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Closed(entries) => entries.list.len() as u64,
            Self::Open(level) => level.len,
            Self::Crowd(seqs) => seqs.len() as u64,
        }
    }

    pub(super) fn insert(&mut self, entry: Entry, level: u32) {
        match self {
            Self::Closed(entries) if entries.list.len() < SLOT_ENTRIES_MAX => entries.push(entry),
            Self::Closed(entries) => {
                let entries = std::mem::take(&mut entries.list);
                *self = if level == 0 { Self::Crowd(BTreeMap::new()) } else { Self::Open(Box::default()) };
                for earlier in entries {
                    self.insert(earlier, level);
                }
                self.insert(entry, level);
            }
            Self::Open(finer) => {
                finer.len += 1;
                finer.slot_or_new(digit(entry.position.due, level - 1)).insert(entry, level - 1);
            }
            Self::Crowd(seqs) => {
                seqs.insert(entry.position.seq, entry.location);
            }
        }
    }

    pub(super) fn get(&mut self, position: Position, level: u32) -> Option<Entry> {
        match self {
            Self::Closed(entries) => entries.find(position).and_then(|at| entries.list.get(at).copied()),
            Self::Open(finer) => finer.slot(digit(position.due, level - 1))?.get(position, level - 1),
            Self::Crowd(seqs) => seqs.get(&position.seq).map(|location| Entry { position, location: *location }),
        }
    }

    pub(super) fn remove(&mut self, position: Position, level: u32) -> Option<Entry> {
        match self {
            Self::Closed(entries) => entries.find(position).map(|at| entries.list.remove(at)),
            Self::Open(finer) => {
                let digit = digit(position.due, level - 1);
                let slot = finer.slot(digit)?;
                let removed = slot.remove(position, level - 1)?;
                let is_empty = slot.len() == 0;
                finer.len -= 1;
                if is_empty {
                    finer.drop_slot(digit);
                }
                Some(removed)
            }
            Self::Crowd(seqs) => seqs.remove(&position.seq).map(|location| Entry { position, location }),
        }
    }

    /// Keeps, of what lies in a span, only what is asked for.
    pub(super) fn retain(&mut self, span: Span, level: u32, start: u64, keep: &dyn Fn(Entry) -> bool) {
        match self {
            Self::Closed(entries) => entries.list.retain(|entry| !span.contains(entry.position) || keep(*entry)),
            Self::Crowd(seqs) => {
                let due = Time::from_unix_ms(start).unwrap_or(Time::MAX);
                let is_kept = |seq, location| {
                    let entry = Entry { position: Position::new(due, seq), location };
                    !span.contains(entry.position) || keep(entry)
                };
                // From the front while it goes: a floor passes little of a crowded millisecond at a time.
                while seqs.first_key_value().is_some_and(|(seq, location)| !is_kept(*seq, *location)) {
                    seqs.pop_first();
                }
                if seqs.first_key_value().is_some_and(|(seq, _)| Position::new(due, *seq) <= span.to) {
                    seqs.retain(|seq, location| is_kept(*seq, *location));
                }
            }
            Self::Open(finer) => {
                for digit in finer.digits() {
                    let start = start_of(start, digit, level - 1);
                    if matches!(lies(level - 1, start, span), Lies::Outside) {
                        continue;
                    }
                    let Some(slot) = finer.slot(digit) else { continue };
                    let before = slot.len();
                    slot.retain(span, level - 1, start, keep);
                    let after = slot.len();
                    finer.len -= before - after;
                    if after == 0 {
                        finer.drop_slot(digit);
                    }
                }
            }
        }
    }

    pub(super) fn walk(
        &mut self,
        span: Span,
        level: u32,
        start: u64,
        show: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::Closed(entries) => {
                let entries = entries.sorted();
                let first = entries.partition_point(|entry| entry.position <= span.after);
                entries.iter().skip(first).take_while(|entry| entry.position <= span.to).copied().try_for_each(show)
            }
            Self::Crowd(seqs) => {
                let due = Time::from_unix_ms(start).unwrap_or(Time::MAX);
                let after = if span.after.due < due { Seq(0) } else { span.after.seq };
                let to = if span.to.due > due { Seq(u64::MAX) } else { span.to.seq };
                if after >= to {
                    return ControlFlow::Continue(());
                }
                seqs.range((Excluded(after), Included(to)))
                    .map(|(seq, location)| Entry { position: Position::new(due, *seq), location: *location })
                    .try_for_each(show)
            }
            Self::Open(finer) => finer.digits().try_for_each(|digit| {
                let start = start_of(start, digit, level - 1);
                match (lies(level - 1, start, span), finer.slot(digit)) {
                    (Lies::Outside, _) | (_, None) => ControlFlow::Continue(()),
                    (Lies::Within | Lies::Across, Some(slot)) => slot.walk(span, level - 1, start, show),
                }
            }),
        }
    }

    pub(super) fn tally(&self, span: Span, level: u32, start: u64, bucket_ms: u64, tell: &mut dyn FnMut(u64, u64)) {
        let (first, last) = time_of(level, start);
        match (lies(level, start, span), self) {
            (Lies::Outside, _) => {}
            (Lies::Within, slot) if first / bucket_ms == last / bucket_ms => tell(first, slot.len()),
            (_, Self::Closed(entries)) => {
                let positions = entries.list.iter().map(|entry| entry.position);
                positions.filter(|position| span.contains(*position)).for_each(|at| tell(at.due.unix_ms(), 1));
            }
            (_, Self::Crowd(seqs)) => {
                let due = Time::from_unix_ms(start).unwrap_or(Time::MAX);
                let within = seqs.keys().filter(|seq| span.contains(Position::new(due, **seq))).count();
                if within > 0 {
                    tell(start, within as u64);
                }
            }
            (_, Self::Open(finer)) => {
                for (digit, slot) in finer.digits().zip(&finer.slots) {
                    slot.tally(span, level - 1, start_of(start, digit, level - 1), bucket_ms, tell);
                }
            }
        }
    }
}

/// Which slot of a level a due time falls into.
fn digit(due: Time, level: u32) -> u32 {
    // Six bits, so it always fits.
    ((due.unix_ms() >> (BITS * level)) & 63) as u32
}

/// The first millisecond of a slot of a level, from that of the slot around it.
fn start_of(around: u64, digit: u32, level: u32) -> u64 {
    around + (u64::from(digit) << (BITS * level))
}

impl Entries {
    fn push(&mut self, entry: Entry) {
        self.is_unsorted |= self.list.last().is_some_and(|last| last.position > entry.position);
        self.list.push(entry);
    }

    fn sorted(&mut self) -> &[Entry] {
        if self.is_unsorted {
            self.list.sort_unstable_by_key(|entry| entry.position);
            self.is_unsorted = false;
        }
        &self.list
    }

    fn find(&mut self, position: Position) -> Option<usize> {
        self.sorted().binary_search_by_key(&position, |entry| entry.position).ok()
    }
}

impl Level {
    /// How many of the slots that are there come before a digit: also its own place among them.
    const fn place(&self, digit: u32) -> usize {
        (self.occupied & ((1 << digit) - 1)).count_ones() as usize
    }

    const fn has(&self, digit: u32) -> bool {
        self.occupied & (1 << digit) != 0
    }

    fn slot(&mut self, digit: u32) -> Option<&mut Slot> {
        let place = self.place(digit);
        if self.has(digit) { self.slots.get_mut(place) } else { None }
    }

    fn slot_or_new(&mut self, digit: u32) -> &mut Slot {
        let place = self.place(digit);
        if !self.has(digit) {
            self.occupied |= 1 << digit;
            self.slots.insert(place, Slot::default());
        }
        &mut self.slots[place]
    }

    fn drop_slot(&mut self, digit: u32) {
        if self.has(digit) {
            self.slots.remove(self.place(digit));
            self.occupied &= !(1 << digit);
        }
    }

    /// The slots that are there now, in order.
    fn digits(&self) -> impl Iterator<Item = u32> + use<> {
        let occupied = self.occupied;
        (0..64).filter(move |digit| occupied & (1 << digit) != 0)
    }
}
