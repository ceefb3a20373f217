//! Cancelling a range, a bounded piece at a time, so that others are served between pieces.

use punctual_types::{IndexKind, Now, Position, Read, Seq, TimelineId, Write, limits};

use super::{
    Answer,
    locate::{Outcome, Standing},
};
use crate::{Facts, format::MessageRecord, state::Shard};

/// Bytes of records that a piece reads at most.
const PIECE_BYTES_MAX: u64 = 4 << 20;

impl Shard {
    /// What to read for a piece, and after which position it begins.
    fn cancel_range_window(&self, id: TimelineId, after: Position, to: Position, now: Now) -> Option<(Read, Position)> {
        let line = self.timeline(id)?.line.position;
        // What is due stays: it is only a moment from crossing, and "delivered now" may have been
        // answered for it.
        let after = after.max(line).max(Position::after(now.floor));
        let window = Read::Window {
            timeline: id,
            after,
            to,
            limit: limits::CANCEL_PIECE_MAX,
            bytes_max: PIECE_BYTES_MAX,
            values: true,
        };
        (after < to).then_some((window, after))
    }

    pub(super) fn cancel_range_reads(
        &self,
        id: TimelineId,
        after: Position,
        to: Position,
        now: Now,
        facts: &Facts,
        wanted: &mut Vec<Read>,
    ) {
        let Some((window, _)) = self.cancel_range_window(id, after, to, now) else { return };
        facts.want(wanted, window);
        for stored in facts.records(&window) {
            let key = MessageRecord::decode(stored.value.clone()).ok().and_then(|record| record.key);
            if let Some(key) = key {
                facts.want(wanted, Read::Lookup(self.place(id.into(), IndexKind::Key, key.as_bytes())));
            }
        }
    }

    pub(super) fn cancel_range(
        &mut self,
        id: TimelineId,
        after: Position,
        to: Position,
        seq_max: Seq,
        facts: &mut Facts,
        now: Now,
    ) -> Answer {
        let window = self.cancel_range_window(id, after, to, now);
        let Some((window, after)) = window else { return Answer::RangeCancelled { cancelled: 0, next: None } };
        let records = facts.take_records(&window);
        let Some(last) = records.last().map(|record| record.position) else {
            return Answer::RangeCancelled { cancelled: 0, next: None };
        };
        // What was published after the call began is not meant, and stays.
        let meant: Vec<_> = records.into_iter().filter(|record| record.position.seq <= seq_max).collect();
        let cancelled = meant.len() as u64;
        if cancelled > 0 {
            self.uncount(id, last, cancelled);
            self.pen.write(facts, Write::RemoveRange { timeline: id, after, to: last, seq_max });
            self.count_cancelled(id.into(), cancelled);
        }
        for stored in meant {
            if let Ok(record) = MessageRecord::decode(stored.value) {
                let standing = Standing { message: record.message, timeline: id, position: stored.position };
                self.note_gone(standing, &record, Outcome::Cancelled, facts, now);
            }
        }
        Answer::RangeCancelled { cancelled, next: Some(last) }
    }
}
