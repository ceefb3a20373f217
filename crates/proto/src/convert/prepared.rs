//! What became of prepared messages. A commit and a rollback answer alike.

use punctual_broker_api::{Error, PreparedOutcome};

use super::{time_from, time_into, unreadable};
use crate::v1;

/// An outcome for the wire: its word, and when the message is due.
fn outcome_into(outcome: PreparedOutcome) -> (i32, Option<i64>) {
    match outcome {
        PreparedOutcome::Committed { deliver_at } => {
            (v1::PreparedOutcome::Committed.into(), Some(time_into(deliver_at)))
        }
        PreparedOutcome::RolledBack => (v1::PreparedOutcome::RolledBack.into(), None),
        PreparedOutcome::NotFound => (v1::PreparedOutcome::NotFound.into(), None),
    }
}

/// A commit's outcome for the wire.
#[must_use]
pub fn commit_outcome_into(outcome: PreparedOutcome) -> v1::CommitReply {
    let (outcome, deliver_at_unix_ms) = outcome_into(outcome);
    v1::CommitReply { outcome, deliver_at_unix_ms }
}

/// A rollback's outcome for the wire.
#[must_use]
pub fn rollback_outcome_into(outcome: PreparedOutcome) -> v1::RollbackReply {
    let (outcome, deliver_at_unix_ms) = outcome_into(outcome);
    v1::RollbackReply { outcome, deliver_at_unix_ms }
}

/// An outcome, of a commit or a rollback.
///
/// # Errors
/// `internal` for one that this version does not know.
pub fn prepared_outcome_from(outcome: i32, deliver_at_unix_ms: Option<i64>) -> Result<PreparedOutcome, Error> {
    match (v1::PreparedOutcome::try_from(outcome), deliver_at_unix_ms) {
        (Ok(v1::PreparedOutcome::Committed), Some(time)) => {
            Ok(PreparedOutcome::Committed { deliver_at: time_from("deliver_at", time)? })
        }
        (Ok(v1::PreparedOutcome::RolledBack), _) => Ok(PreparedOutcome::RolledBack),
        (Ok(v1::PreparedOutcome::NotFound), _) => Ok(PreparedOutcome::NotFound),
        (Ok(v1::PreparedOutcome::Committed | v1::PreparedOutcome::Unspecified) | Err(_), _) => {
            Err(unreadable(&format!("prepared outcome {outcome}")))
        }
    }
}
