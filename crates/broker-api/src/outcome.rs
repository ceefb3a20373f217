//! Definite answers: exactly one of a few words.

use punctual_types::{DelayMs, Time};

use crate::Receipt;

/// The answer to a receipt that was acked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckOutcome {
    /// It will not be delivered to this subscription again. Said again to a second ack.
    Acked,
    /// The lease ended before; the message is or will be somebody else's.
    LeaseLost,
    /// Not a receipt of this subscription.
    Invalid,
}

/// A negative ack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NackRequest {
    /// What failed.
    pub receipts: Vec<Receipt>,
    /// Try again after this, instead of what the retry policy says.
    pub delay: Option<DelayMs>,
    /// What went wrong, kept for the dead letter; up to 4 KiB.
    pub error: Option<String>,
}

/// The answer to a receipt that was nacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NackOutcome {
    /// It will be tried again; or it has expired meanwhile and is dropped, as its topic says.
    Retry,
    /// It had its last attempt, or has expired meanwhile, and lies in the dead-letter topic.
    DeadLettered,
    /// The lease ended before.
    LeaseLost,
    /// Not a receipt of this subscription.
    Invalid,
}

/// The answer to a receipt that was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// It is ready again at its own place, the attempt not raised.
    Released,
    /// The lease ended before.
    LeaseLost,
    /// Not a receipt of this subscription.
    Invalid,
}

/// The answer to a receipt whose lease was to be extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendOutcome {
    /// The lease runs until then, counted from now.
    Extended {
        /// When it ends.
        lease_expires_at: Time,
    },
    /// The lease ended before.
    LeaseLost,
    /// Not a receipt of this subscription.
    Invalid,
}

/// The answer to a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It will not be delivered. Said again for ten minutes.
    Cancelled,
    /// It had come due.
    TooLate,
    /// There is no such message.
    NotFound,
}

/// The answer to a reschedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RescheduleOutcome {
    /// It is due then, and not at its old time.
    Rescheduled {
        /// The new due time.
        deliver_at: Time,
    },
    /// It had come due.
    TooLate,
    /// There is no such message, or it was cancelled.
    NotFound,
}

/// The answer to a deliver-now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverNowOutcome {
    /// It is due now. Said again for ten minutes.
    DeliveredNow,
    /// It had come due by itself.
    TooLate,
    /// There is no such message, or it was cancelled.
    NotFound,
}

/// The answer to a commit or a rollback of a prepared message: what became of it, which is not
/// what was asked for when the other came first. Said again for 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedOutcome {
    /// It is scheduled, or was delivered meanwhile.
    Committed {
        /// When it is due; a time that had passed became the time of the commit.
        deliver_at: Time,
    },
    /// It will never be delivered: its producer took it back, or nobody decided in time.
    RolledBack,
    /// There is no such prepared message, or it was settled more than 24 hours ago.
    NotFound,
}
