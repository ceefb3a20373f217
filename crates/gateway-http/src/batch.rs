//! A batch of messages, `{"messages":[M,…]}`, read in one pass: each message becomes a
//! [`NewMessage`] before the next is looked at, so that a batch never stands in memory as a tree.

use std::fmt;

use punctual_broker_api::{Code, Error, NewMessage};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{
    json::{Budget, JsonSeed, read},
    message,
};

/// The messages of a batch, in order, each read or refused by itself.
pub(crate) type Messages = Vec<Result<NewMessage, Error>>;

/// Reads a batch of at most `most` messages.
pub(crate) fn parse(text: &[u8], most: usize) -> Result<Messages, Error> {
    let mut envelope = Envelope { most, messages: None, count: 0, unknown: None, repeated: false, inside: false };
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let read = EnvelopeSeed(&mut envelope).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    if let Err(error) = read {
        let fault = Error::new(Code::MalformedRequest, format!("cannot read the batch as JSON: {error}"))
            .with_hint("send `{\"messages\":[…]}` in UTF-8, or a message a line as application/x-ndjson");
        return Err(if envelope.inside && error.is_data() { fault.with_field("messages") } else { fault });
    }
    if let Some(name) = envelope.unknown {
        let name = read::cut(&name);
        return Err(Error::new(Code::UnknownField, format!("a batch has no field `{name}`")).with_field(name));
    }
    if envelope.repeated {
        return Err(Error::new(Code::InvalidField, "`messages` is given twice").with_field("messages"));
    }
    if envelope.count > most {
        let problem = format!("the batch has {} messages, allowed are {most}", envelope.count);
        return Err(Error::new(Code::BatchTooLarge, problem).with_field("messages"));
    }
    envelope
        .messages
        .ok_or_else(|| Error::new(Code::MalformedRequest, "the batch has no `messages`").with_field("messages"))
}

/// Reads one message, which is a line of NDJSON or an element of a batch.
pub(crate) fn parse_line(line: &[u8]) -> Result<NewMessage, Error> {
    message::of_json(crate::json::parse(line)?)
}

struct Envelope {
    most: usize,
    messages: Option<Messages>,
    count: usize,
    unknown: Option<String>,
    repeated: bool,
    inside: bool,
}

struct EnvelopeSeed<'e>(&'e mut Envelope);

impl<'de> DeserializeSeed<'de> for EnvelopeSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EnvelopeSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `messages`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name != "messages" {
                map.next_value::<IgnoredAny>()?;
                self.0.unknown.get_or_insert(name);
            } else if self.0.messages.is_some() {
                map.next_value::<IgnoredAny>()?;
                self.0.repeated = true;
            } else {
                self.0.inside = true;
                map.next_value_seed(MessagesSeed(self.0))?;
                self.0.inside = false;
            }
        }
        Ok(())
    }
}

struct MessagesSeed<'e>(&'e mut Envelope);

impl<'de> DeserializeSeed<'de> for MessagesSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MessagesSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        let mut messages = Messages::new();
        loop {
            // Past the limit they are only counted, for the error to tell how many there were.
            if self.0.count >= self.0.most {
                if sequence.next_element::<IgnoredAny>()?.is_none() {
                    break;
                }
                self.0.count += 1;
                continue;
            }
            let mut budget = Budget::new();
            let Some(value) = sequence.next_element_seed(JsonSeed(&mut budget))? else { break };
            self.0.count += 1;
            messages.push(budget.check().and_then(|()| message::of_json(value)));
        }
        self.0.messages = Some(messages);
        Ok(())
    }
}
