//! Publishes to one topic, each message with its trace.

use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use punctual_broker_api::{Broker, Code, Error, NewMessage, Published, TopicPath};
use tracing::Instrument;

use super::Publisher;
use crate::{
    limits::PUBLISHES_IN_FLIGHT_MAX,
    trace::{self, CurrentTrace, HandlersOwn, Room, TraceContext},
};

type Results = Vec<Result<Published, Error>>;

/// Publishes to a topic: a message, a batch, or a stream of messages.
///
/// Each call is a tracing span `publish`, and each message carries where in its trace it was
/// published in the headers `traceparent` and `tracestate` (W3C Trace Context), when there is a
/// trace: the one that [`Producer::traces`] names, by default that of the message which is being
/// handled. A message that has a `traceparent` already keeps it.
///
/// Nothing is repeated: after `outcome_unknown` it may have happened, and publishing again is safe
/// for messages with a `dedup_id`.
///
/// ```
/// use std::sync::Arc;
/// use punctual_client::{Producer, api::*, topic};
/// use punctual_embedded::{Broker as Embedded, Config};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let broker: Arc<dyn Broker> = Arc::new(Embedded::open(Config::default()).await?);
/// let orders = Producer::new(broker, topic("orders")?);
/// let in_15_minutes = When::Delay(DelayMs::from_secs(900));
/// let published = orders.publish(NewMessage { body: "42".into(), when: in_15_minutes, ..NewMessage::default() }).await?;
/// assert_eq!(published.status, PublishStatus::Accepted);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Producer {
    broker: Arc<dyn Broker>,
    topic: TopicPath,
    pipeline: Option<Publisher>,
    traces: Arc<dyn CurrentTrace>,
}

impl Producer {
    /// Publishes to a topic, which is made when it does not exist, call by call.
    #[must_use]
    pub fn new(broker: Arc<dyn Broker>, topic: TopicPath) -> Self {
        Self { broker, topic, pipeline: None, traces: Arc::new(HandlersOwn) }
    }

    /// Publishes through a pipelined stream: cheaper for each call, and what is published at the
    /// same time is accepted in the order in which it was asked for.
    #[must_use]
    pub fn through(mut self, pipeline: Publisher) -> Self {
        self.pipeline = Some(pipeline);
        self
    }

    /// Takes the trace from here.
    #[must_use]
    pub fn traces(mut self, traces: impl CurrentTrace) -> Self {
        self.traces = Arc::new(traces);
        self
    }

    /// Publishes a message; answers when it is as durable as the topic asks.
    ///
    /// # Errors
    /// As [`Broker::publish`] for the call and for each message.
    pub async fn publish(&self, message: NewMessage) -> Result<Published, Error> {
        let results = self.publish_batch(vec![message]).await?;
        results.into_iter().next().unwrap_or_else(|| Err(unanswered()))
    }

    /// Publishes a batch: one answer per message, in order, each done or refused by itself.
    ///
    /// # Errors
    /// As [`Broker::publish`].
    pub async fn publish_batch(&self, mut messages: Vec<NewMessage>) -> Result<Results, Error> {
        let around = self.traces.current();
        let own = around.as_ref().map(TraceContext::child);
        if let Some(own) = &own {
            let limits = self.broker.limits();
            let room = Room { headers: limits.headers_max, bytes: limits.headers_bytes_max };
            messages.iter_mut().for_each(|message| trace::inject(own, &mut message.headers, &room));
        }
        let span = tracing::info_span!(
            "publish",
            topic = %self.topic.topic,
            messages = messages.len(),
            trace_id = tracing::field::Empty,
            span_id = tracing::field::Empty,
            parent_id = tracing::field::Empty,
        );
        trace::record(&span, own.as_ref(), around.as_ref());
        self.send(messages).instrument(span).await
    }

    async fn send(&self, messages: Vec<NewMessage>) -> Result<Results, Error> {
        match &self.pipeline {
            Some(pipeline) => pipeline.publish(self.topic.clone(), messages).await,
            None => self.broker.publish(self.topic.clone(), messages).await,
        }
    }

    /// Publishes a stream of messages: one answer per message, in order. What is there at once goes
    /// together, up to `batch` messages a call, and up to `in_flight` calls (1 to 256) wait for
    /// their answers; beyond that nothing is taken from the stream, nor while the answers are not
    /// read. A call that fails is the answer to each of its messages.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use futures_util::{StreamExt, stream};
    /// # use punctual_client::{Producer, api::*, topic};
    /// # use punctual_embedded::{Broker as Embedded, Config};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let broker: Arc<dyn Broker> = Arc::new(Embedded::open(Config::default()).await?);
    /// let orders = Producer::new(broker, topic("orders")?);
    /// let messages = stream::iter(0..1000).map(|n| NewMessage { body: n.to_string().into(), ..NewMessage::default() });
    /// let mut answers = std::pin::pin!(orders.publish_all(messages, 64, 8));
    /// while let Some(answer) = answers.next().await {
    ///     answer?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn publish_all<'a>(
        &'a self,
        messages: impl Stream<Item = NewMessage> + 'a,
        batch: usize,
        in_flight: usize,
    ) -> impl Stream<Item = Result<Published, Error>> + 'a {
        messages
            .ready_chunks(batch.max(1))
            .map(|messages| async {
                let asked = messages.len();
                self.publish_batch(messages).await.unwrap_or_else(|error| vec![Err(error); asked])
            })
            .buffered(in_flight.clamp(1, PUBLISHES_IN_FLIGHT_MAX))
            .flat_map(stream::iter)
    }
}

fn unanswered() -> Error {
    Error::new(Code::OutcomeUnknown, "the broker did not say what became of the message")
}
