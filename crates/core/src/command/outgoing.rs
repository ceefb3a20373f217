//! What is on its way to another shard, a bounded piece at a time.

use punctual_types::{Mark, Read, ShardNumber, TimelineId};

use super::Answer;
use crate::{
    Facts,
    format::{FormatError, transfer},
    state::{Shard, Transfer, TransferSource},
};

/// Bytes of transfers that a piece reads at most.
const PIECE_BYTES_MAX: u64 = 4 << 20;

/// Transfers to one shard that follow each other.
#[derive(Debug)]
pub struct TransferPiece {
    /// Who sends them.
    pub source: TransferSource,
    /// They, in order.
    pub transfers: Vec<Transfer>,
    /// Those that cannot be read, by number: they are left out.
    pub damaged: Vec<(u64, FormatError)>,
    /// The number of the last, damaged ones included.
    pub last: u64,
    /// Where the piece ends, for `Arrived`; `None` when nothing is on its way.
    pub end: Option<Mark>,
}

impl Shard {
    fn outgoing_window(&self, target: ShardNumber, limit: u32) -> Option<(Mark, Read)> {
        let id = TimelineId::outgoing(target);
        let timeline = self.timeline(id)?;
        let (floor, to) = (timeline.floor, timeline.line.position);
        let window =
            Read::Window { timeline: id, after: floor.position, to, limit, bytes_max: PIECE_BYTES_MAX, values: true };
        (floor.position < to).then_some((floor, window))
    }

    pub(super) fn outgoing_reads(&self, target: ShardNumber, limit: u32, facts: &Facts, wanted: &mut Vec<Read>) {
        if let Some((_, window)) = self.outgoing_window(target, limit) {
            facts.want(wanted, window);
        }
    }

    /// Only what has crossed the line leaves, and so only what is durable: a transfer that arrived
    /// and was then lost by its source would give its number to another.
    pub(super) fn outgoing(&self, target: ShardNumber, limit: u32, facts: &mut Facts) -> Answer {
        let mut piece = TransferPiece {
            source: self.transfer_source(),
            transfers: Vec::new(),
            damaged: Vec::new(),
            last: 0,
            end: None,
        };
        let Some((mut end, window)) = self.outgoing_window(target, limit) else { return Answer::Outgoing(piece) };
        for record in facts.take_records(&window) {
            // Numbers are counted from 1 and offsets from 0, both without gaps.
            end = Mark { offset: end.offset.next(), position: record.position };
            piece.last = end.offset.0;
            piece.end = Some(end);
            match transfer::decode(record.value) {
                Ok(transfer) if transfer.number == piece.last => piece.transfers.push(transfer),
                Ok(other) => {
                    let detail = format!("number {} stands where {} belongs", other.number, piece.last);
                    piece.damaged.push((piece.last, FormatError::new(transfer::WHAT, detail)));
                }
                Err(error) => piece.damaged.push((piece.last, error)),
            }
        }
        Answer::Outgoing(piece)
    }
}
