//! A batch as the journal keeps it: time, and one step after the other.
//!
//! What is written is what is applied: a commit encodes its batch once and is then applied from
//! those bytes by the same code that a restart uses. A record is never copied again; whoever knows
//! its [`Extent`] finds it in the journal.

mod encode;
mod steps;

pub(crate) use encode::encode;
pub(crate) use steps::{NoBatch, Step, Steps};

/// Where a record lies within the bytes of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

/// Kinds of steps. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    /// The timeline of the steps that follow.
    Timeline = 1,
    Insert = 2,
    Remove = 3,
    RemoveRange = 4,
    Anchor = 5,
    RaiseFloor = 6,
    PutIndex = 7,
    SetState = 8,
    ForgetState = 9,
}

impl Tag {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Timeline,
            2 => Self::Insert,
            3 => Self::Remove,
            4 => Self::RemoveRange,
            5 => Self::Anchor,
            6 => Self::RaiseFloor,
            7 => Self::PutIndex,
            8 => Self::SetState,
            9 => Self::ForgetState,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
