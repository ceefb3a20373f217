//! What became of a published message: R of the contract.

use punctual_broker_api::{Error, PublishStatus, Published};
use serde::Serialize;

use super::At;
use crate::refusal::Refusal;

#[derive(Serialize)]
pub(crate) struct PublishedAnswer<'p> {
    id: &'p str,
    deliver_at: At,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_id: Option<&'p str>,
}

impl<'p> PublishedAnswer<'p> {
    pub(crate) fn of(published: &'p Published) -> Self {
        let (status, replaced_id) = match &published.status {
            PublishStatus::Accepted => ("accepted", None),
            PublishStatus::Duplicate => ("duplicate", None),
            PublishStatus::Replaced { replaced_id } => ("replaced", Some(replaced_id.as_str())),
            PublishStatus::Kept => ("kept", None),
            PublishStatus::Prepared => ("prepared", None),
        };
        Self { id: published.id.as_str(), deliver_at: At(published.deliver_at), status, replaced_id }
    }
}

/// Appends R, or `{"error":E}`, to an answer that is being written.
pub(crate) fn write_result(text: &mut Vec<u8>, result: &Result<Published, Error>, request_id: &str) {
    let written = match result {
        Ok(published) => serde_json::to_writer(text, &PublishedAnswer::of(published)),
        Err(error) => serde_json::to_writer(text, &Refusal::new(error, request_id)),
    };
    assert!(written.is_ok(), "a result could not be written as JSON: {written:?}");
}
