//! Receipts and what became of them: one enum on the wire for acks, nacks, releases and extends.

use punctual_broker_api::{AckOutcome, Error, ExtendOutcome, NackOutcome, Receipt, ReleaseOutcome};

use super::{time_from, time_into, unreadable};
use crate::v1::ReceiptOutcome as Wire;

/// Receipts.
#[must_use]
pub fn receipts_from(receipts: &[String]) -> Vec<Receipt> {
    receipts.iter().map(|text| Receipt::new(text)).collect()
}

/// Receipts for the wire.
#[must_use]
pub fn receipts_into(receipts: &[Receipt]) -> Vec<String> {
    receipts.iter().map(|receipt| receipt.as_str().to_owned()).collect()
}

fn unknown(outcome: i32) -> Error {
    unreadable(&format!("receipt outcome {outcome}"))
}

/// An ack's outcome for the wire.
#[must_use]
pub fn ack_outcome_into(outcome: AckOutcome) -> i32 {
    let wire = match outcome {
        AckOutcome::Acked => Wire::Acked,
        AckOutcome::LeaseLost => Wire::LeaseLost,
        AckOutcome::Invalid => Wire::Invalid,
    };
    wire.into()
}

/// An ack's outcome.
///
/// # Errors
/// `internal` for one that is not an ack's.
pub fn ack_outcome_from(outcome: i32) -> Result<AckOutcome, Error> {
    match Wire::try_from(outcome) {
        Ok(Wire::Acked) => Ok(AckOutcome::Acked),
        Ok(Wire::LeaseLost) => Ok(AckOutcome::LeaseLost),
        Ok(Wire::Invalid) => Ok(AckOutcome::Invalid),
        Ok(Wire::Unspecified | Wire::Retry | Wire::DeadLettered | Wire::Released | Wire::Extended) | Err(_) => {
            Err(unknown(outcome))
        }
    }
}

/// A nack's outcome for the wire.
#[must_use]
pub fn nack_outcome_into(outcome: NackOutcome) -> i32 {
    let wire = match outcome {
        NackOutcome::Retry => Wire::Retry,
        NackOutcome::DeadLettered => Wire::DeadLettered,
        NackOutcome::LeaseLost => Wire::LeaseLost,
        NackOutcome::Invalid => Wire::Invalid,
    };
    wire.into()
}

/// A nack's outcome.
///
/// # Errors
/// `internal` for one that is not a nack's.
pub fn nack_outcome_from(outcome: i32) -> Result<NackOutcome, Error> {
    match Wire::try_from(outcome) {
        Ok(Wire::Retry) => Ok(NackOutcome::Retry),
        Ok(Wire::DeadLettered) => Ok(NackOutcome::DeadLettered),
        Ok(Wire::LeaseLost) => Ok(NackOutcome::LeaseLost),
        Ok(Wire::Invalid) => Ok(NackOutcome::Invalid),
        Ok(Wire::Unspecified | Wire::Acked | Wire::Released | Wire::Extended) | Err(_) => Err(unknown(outcome)),
    }
}

/// A release's outcome for the wire.
#[must_use]
pub fn release_outcome_into(outcome: ReleaseOutcome) -> i32 {
    let wire = match outcome {
        ReleaseOutcome::Released => Wire::Released,
        ReleaseOutcome::LeaseLost => Wire::LeaseLost,
        ReleaseOutcome::Invalid => Wire::Invalid,
    };
    wire.into()
}

/// A release's outcome.
///
/// # Errors
/// `internal` for one that is not a release's.
pub fn release_outcome_from(outcome: i32) -> Result<ReleaseOutcome, Error> {
    match Wire::try_from(outcome) {
        Ok(Wire::Released) => Ok(ReleaseOutcome::Released),
        Ok(Wire::LeaseLost) => Ok(ReleaseOutcome::LeaseLost),
        Ok(Wire::Invalid) => Ok(ReleaseOutcome::Invalid),
        Ok(Wire::Unspecified | Wire::Acked | Wire::Retry | Wire::DeadLettered | Wire::Extended) | Err(_) => {
            Err(unknown(outcome))
        }
    }
}

/// Outcomes of an extend for the wire: what became of each receipt, and when its lease ends.
#[must_use]
pub fn extend_outcomes_into(outcomes: &[ExtendOutcome]) -> (Vec<i32>, Vec<i64>) {
    let pairs = outcomes.iter().map(|outcome| match *outcome {
        ExtendOutcome::Extended { lease_expires_at } => (i32::from(Wire::Extended), time_into(lease_expires_at)),
        ExtendOutcome::LeaseLost => (Wire::LeaseLost.into(), 0),
        ExtendOutcome::Invalid => (Wire::Invalid.into(), 0),
    });
    pairs.unzip()
}

/// Outcomes of an extend.
///
/// # Errors
/// `internal` for one that is not an extend's, or has no time.
pub fn extend_outcomes_from(outcomes: &[i32], lease_expires_at: &[i64]) -> Result<Vec<ExtendOutcome>, Error> {
    let times = lease_expires_at.iter().copied().map(Some).chain(std::iter::repeat(None));
    let pairs = outcomes.iter().copied().zip(times);
    pairs
        .map(|(outcome, time)| match (Wire::try_from(outcome), time) {
            (Ok(Wire::Extended), Some(time)) => {
                Ok(ExtendOutcome::Extended { lease_expires_at: time_from("lease_expires_at", time)? })
            }
            (Ok(Wire::LeaseLost), _) => Ok(ExtendOutcome::LeaseLost),
            (Ok(Wire::Invalid), _) => Ok(ExtendOutcome::Invalid),
            (
                Ok(
                    Wire::Unspecified
                    | Wire::Acked
                    | Wire::Retry
                    | Wire::DeadLettered
                    | Wire::Released
                    | Wire::Extended,
                )
                | Err(_),
                _,
            ) => Err(unknown(outcome)),
        })
        .collect()
}
