//! What a request is about: the parts of its path, percent-decoded.

use axum::extract::{RawPathParams, rejection::RawPathParamsRejection};
use punctual_broker_api::{
    Code, Error, Handle, MessageId, NameError, NamespaceName, ScheduleName, SchedulePath, SubscriptionName,
    SubscriptionPath, TopicName, TopicPath,
};

use crate::json::{Fields, read};

/// The named parts of a path.
pub(crate) struct Captures(Vec<(String, String)>);

impl Captures {
    pub(crate) fn of(params: Result<RawPathParams, RawPathParamsRejection>) -> Result<Self, Error> {
        match params {
            Ok(params) => Ok(Self(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())),
            Err(_) => Err(Error::new(Code::MalformedRequest, "the path does not decode to UTF-8")),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn name<T>(&self, part: &str, parse: impl FnOnce(&str) -> Result<T, NameError>) -> Result<T, Error> {
        let name = self.get(part).unwrap_or_default();
        parse(name).map_err(|problem| {
            Error::new(Code::InvalidName, format!("the name of the {part}, `{}`, {problem}", read::cut(name)))
                .with_field(part)
        })
    }

    /// The namespace: `default` when the path names none.
    pub(crate) fn namespace(&self) -> Result<NamespaceName, Error> {
        if self.get("namespace").is_none() {
            return Ok(NamespaceName::default());
        }
        self.name("namespace", NamespaceName::parse)
    }

    pub(crate) fn topic(&self) -> Result<TopicPath, Error> {
        Ok(TopicPath { namespace: self.namespace()?, topic: self.name("topic", TopicName::parse)? })
    }

    pub(crate) fn subscription(&self) -> Result<SubscriptionPath, Error> {
        let subscription = self.name("subscription", SubscriptionName::parse)?;
        Ok(SubscriptionPath { topic: self.topic()?, subscription })
    }

    pub(crate) fn schedule(&self) -> Result<SchedulePath, Error> {
        Ok(SchedulePath { namespace: self.namespace()?, schedule: self.name("schedule", ScheduleName::parse)? })
    }

    /// The message: by `{id}`, or by `{key}` with the query's `ordering_key`.
    pub(crate) fn handle(&self, query: &mut Fields<'_>) -> Result<Handle, Error> {
        match self.get("key") {
            Some(key) => {
                let ordering_key = query.optional("ordering_key", read::text)?;
                Ok(Handle::Key { key: key.to_owned(), ordering_key })
            }
            None => Ok(Handle::Id(self.id())),
        }
    }

    /// The id of a message.
    pub(crate) fn id(&self) -> MessageId {
        MessageId::new(self.get("id").unwrap_or_default())
    }

    /// The slug of an error page.
    pub(crate) fn slug(&self) -> &str {
        self.get("slug").unwrap_or_default()
    }
}
