//! A transfer as it waits at its source, and the number of the last one taken at its target.
//!
//! A message to publish lies in the form of a stored message, without a place of its own yet.

use bytes::Bytes;
use punctual_types::{DelayMs, MessageRef, Position, Time, TimelineId};

use super::{
    FormatError, MessageRecord,
    fields::{FieldReader, FieldWriter, field_len},
};
use crate::{
    Due, OnKeyConflict, PublishItem,
    state::{PartitionId, Transfer, TransferItem},
};

pub(crate) const WHAT: &str = "transfer";
const VERSION: u8 = 1;

// Tags. Never reused.
const NUMBER: u8 = 1;
const TIMELINE: u8 = 2;
const RECORD: u8 = 3;
const DUE: u8 = 4;
const DUE_KIND: u8 = 5;
const ON_CONFLICT: u8 = 6;

// Kinds of due times. A stored record has none: its time is decided.
const DUE_NOW: u64 = 1;
const DUE_AFTER: u64 = 2;
const DUE_AT: u64 = 3;

/// The stored form.
#[must_use]
pub fn encode(transfer: &Transfer) -> Bytes {
    match &transfer.item {
        TransferItem::Record { timeline, due, record } => {
            let mut out = begin(transfer.number, *timeline, record);
            out.number(DUE, due.unix_ms());
            out.finish()
        }
        TransferItem::Publish { partition, item } => {
            let first = Position::MIN;
            let message =
                MessageRef { topic: partition.topic, partition: partition.partition, priority: item.priority, first };
            let record = item.as_ref().clone().into_record(message, Time::ZERO).encode();
            let mut out = begin(transfer.number, message.timeline(), &record);
            let (kind, time) = match item.due {
                Due::Now => (DUE_NOW, 0),
                Due::After(delay) => (DUE_AFTER, delay.ms()),
                Due::At(time) => (DUE_AT, time.unix_ms()),
            };
            let on_conflict = match item.on_conflict {
                OnKeyConflict::Reject => 1,
                OnKeyConflict::Replace => 2,
                OnKeyConflict::Keep => 3,
            };
            out.number(DUE, time).number(DUE_KIND, kind).number(ON_CONFLICT, on_conflict);
            out.finish()
        }
    }
}

fn begin(number: u64, timeline: TimelineId, record: &[u8]) -> FieldWriter {
    let mut out = FieldWriter::new(VERSION, 64 + field_len(record.len()));
    out.number(NUMBER, number).bytes(TIMELINE, &timeline.to_bytes()).bytes(RECORD, record);
    out
}

/// Reads the stored form.
///
/// # Errors
/// When it is damaged or of a later version.
pub fn decode(value: Bytes) -> Result<Transfer, FormatError> {
    let mut fields = FieldReader::new(WHAT, VERSION, value)?;
    let (mut number, mut timeline, mut record) = (0, None, None);
    let (mut time, mut kind, mut on_conflict) = (0, 0, 0);
    while let Some((tag, value)) = fields.next_field()? {
        match tag {
            NUMBER => number = fields.as_number(&value)?,
            TIMELINE => timeline = TimelineId::from_bytes(&value),
            RECORD => record = Some(value),
            DUE => time = fields.as_number(&value)?,
            DUE_KIND => kind = fields.as_number(&value)?,
            ON_CONFLICT => on_conflict = fields.as_number(&value)?,
            _ => {}
        }
    }
    let broken = |what: &str| FormatError::new(WHAT, what);
    let timeline = timeline.ok_or_else(|| broken("goes to no timeline"))?;
    let record = record.ok_or_else(|| broken("carries nothing"))?;
    let at = || Time::from_unix_ms(time).ok_or_else(|| broken("has a time after the year 9999"));
    let due = match kind {
        0 => return Ok(Transfer { number, item: TransferItem::Record { timeline, due: at()?, record } }),
        DUE_NOW => Due::Now,
        DUE_AFTER => Due::After(DelayMs::from_ms(time)),
        DUE_AT => Due::At(at()?),
        _ => return Err(broken("has a due time of another kind")),
    };
    let on_conflict = match on_conflict {
        1 => OnKeyConflict::Reject,
        2 => OnKeyConflict::Replace,
        3 => OnKeyConflict::Keep,
        _ => return Err(broken("has another way with conflicts")),
    };
    let item = Box::new(PublishItem::from_record(MessageRecord::decode(record)?, due, on_conflict));
    Ok(Transfer { number, item: TransferItem::Publish { partition: PartitionId::from(timeline), item } })
}

/// The stored form of the number of the last transfer taken.
#[must_use]
pub fn encode_arrived(last: u64) -> Bytes {
    let mut out = FieldWriter::new(VERSION, 12);
    out.number(1, last);
    out.finish()
}

/// Reads it.
///
/// # Errors
/// When it is damaged or of a later version.
pub fn decode_arrived(value: Bytes) -> Result<u64, FormatError> {
    let mut fields = FieldReader::new("number of a transfer", VERSION, value)?;
    let mut last = 0;
    while let Some((tag, value)) = fields.next_field()? {
        if tag == 1 {
            last = fields.as_number(&value)?;
        }
    }
    Ok(last)
}
