//! Committing and rolling back prepared messages.

use punctual_broker_api::{Error, MessageId, PreparedOutcome, TopicPath};

use super::{Inner, validate::not_supported};

impl Inner {
    pub(super) async fn commit(&self, _topic: TopicPath, _id: MessageId) -> Result<PreparedOutcome, Error> {
        Err(not_supported("commit"))
    }

    pub(super) async fn rollback(&self, _topic: TopicPath, _id: MessageId) -> Result<PreparedOutcome, Error> {
        Err(not_supported("rollback"))
    }
}
