//! Prepared messages: committed, rolled back, and where they are asked after.
//!
//! A topic's in-doubt topic is `{topic}.in_doubt`, beside it: on the same shards and with as many partitions,
//! so that one batch writes to both. Whichever of the two is made first, the other is put there. It is made, out
//! of sight, with the first message that is prepared (docs/adr/0008-hidden-dead-letter-topics.md).

use std::sync::Arc;

use punctual_broker_api::{Code, Error, Handle, MessageId, PreparedOutcome, TopicPath};
use punctual_core::{Answer, Command, MessageHandle, PreparedAnswer};
use punctual_types::TopicName;

use super::{Inner, admin::topic_entry};
use crate::catalog::{IN_DOUBT, Topic, keep};

impl Inner {
    pub(super) async fn commit(self: &Arc<Self>, topic: TopicPath, id: MessageId) -> Result<PreparedOutcome, Error> {
        self.decide(topic, id, true).await
    }

    pub(super) async fn rollback(self: &Arc<Self>, topic: TopicPath, id: MessageId) -> Result<PreparedOutcome, Error> {
        self.decide(topic, id, false).await
    }

    async fn decide(self: &Arc<Self>, path: TopicPath, id: MessageId, commit: bool) -> Result<PreparedOutcome, Error> {
        let Some(at) = self.address(&path, &Handle::Id(id))? else { return Ok(PreparedOutcome::NotFound) };
        let MessageHandle::Message(message) = at.handle else { return Ok(PreparedOutcome::NotFound) };
        let command = Command::Decide { partition: at.partition, message, commit };
        Ok(match self.ask_about(&at, command).await? {
            Answer::Decided(PreparedAnswer::Committed { due }) => PreparedOutcome::Committed { deliver_at: due },
            Answer::Decided(PreparedAnswer::RolledBack) => PreparedOutcome::RolledBack,
            _ => PreparedOutcome::NotFound,
        })
    }

    /// Makes sure that a topic's prepared messages can be asked after.
    pub(super) async fn ensure_in_doubt(self: &Arc<Self>, path: &TopicPath) -> Result<(), Error> {
        let topic = self.catalog().topic(path)?;
        if self.catalog().in_doubt_of(&topic).is_some() {
            return Ok(());
        }
        let (inner, path) = (self.clone(), path.clone());
        self.change(async move {
            let topic = inner.catalog().topic(&path)?;
            if inner.catalog().in_doubt_of(&topic).is_none() {
                inner.make_in_doubt(&topic).await?;
            }
            Ok(())
        })
        .await
    }

    async fn make_in_doubt(&self, topic: &Topic) -> Result<(), Error> {
        let name = format!("{}{IN_DOUBT}", topic.name);
        let refused = |why: &str| {
            Error::new(Code::InvalidName, format!("topic `{name}`, for prepared messages, {why}")).with_field("prepare")
        };
        let stored = TopicName::stored(&name).ok_or_else(|| refused("would have too long a name"))?;
        let home = TopicPath { namespace: topic.namespace.clone(), topic: stored.clone() };
        if self.catalog().topic(&home).is_ok() {
            return Err(refused("exists and lies elsewhere")
                .with_hint("delete it: it is made beside its topic with the first message that is prepared"));
        }
        let made = topic.beside(self.next_topic(), stored);
        self.keep(vec![self.counters(), keep(&topic_entry(&made))]).await?;
        self.configure(&made).await?;
        self.catalog_mut().put_topic(made);
        self.configure(topic).await
    }

    /// Makes the in-doubt topic of a topic anew after it was deleted, and tells the topic: what is in doubt
    /// there already is still to be asked after.
    pub(super) async fn replace_in_doubt(&self, deleted: &Topic) -> Result<(), Error> {
        let base = self.catalog().base_of(deleted);
        match base {
            Some(base) => self.make_in_doubt(&base).await,
            None => Ok(()),
        }
    }

    /// Tells the topic whose prepared messages are asked after in this one, if there is one.
    pub(super) async fn configure_base(&self, in_doubt: &Topic) -> Result<(), Error> {
        let base = self.catalog().base_of(in_doubt);
        match base {
            Some(base) => self.configure(&base).await,
            None => Ok(()),
        }
    }
}
