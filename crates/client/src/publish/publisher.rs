//! Pipelined publishing: many requests in flight on one stream.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use punctual_broker_api::{Code, Error, NewMessage, Published, TopicPath};
use punctual_proto::{
    convert, status,
    v1::{PublishReply, PublishRequest},
};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::{
    Client,
    failure::{Effect, error_of, lost},
    limits::PUBLISHES_IN_FLIGHT_MAX,
};

type Results = Vec<Result<Published, Error>>;
type Answer = Result<Results, Error>;

/// Publishes on a stream of its own, up to its window of requests in flight; requests are accepted
/// by the broker in the order in which [`Publisher::publish`] was first polled. Clones share the
/// stream and the window.
///
/// Answers come in the order of the requests, so that one topic's slow sync holds up the answers
/// behind it: a publisher for each durability is the better choice where that matters, and it is why
/// [`Client`] itself publishes call by call. On two cores, 50 requests of 64 messages in flight, a
/// publisher moves a quarter more messages than that.
///
/// A stream that broke stays broken: every further publish says so, and a new publisher is had from
/// [`Client::publisher`].
///
/// ```no_run
/// use punctual_client::{Client, ClientConfig, api::*};
///
/// # async fn example(topic: TopicPath, batches: Vec<Vec<NewMessage>>) -> Result<(), Error> {
/// let client = Client::connect(ClientConfig::new("127.0.0.1:7801")).await?;
/// let publisher = client.publisher(50).await?;
/// let answers = batches.into_iter().map(|batch| publisher.publish(topic.clone(), batch));
/// for answer in futures_util::future::join_all(answers).await {
///     for result in answer? {
///         result?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Publisher {
    requests: mpsc::Sender<PublishRequest>,
    window: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Who waits for which reply, in the order of the requests.
#[derive(Default)]
struct Waiting {
    next_id: u64,
    callers: VecDeque<(u64, oneshot::Sender<Answer>)>,
    /// Set when the stream is over: what every further call is answered.
    over: Option<Error>,
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    // Nothing under the lock panics half-way, so that a poisoned state is a whole one.
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Publisher {
    pub(crate) async fn open(client: &Client, window: usize) -> Result<Self, Error> {
        let window = window.clamp(1, PUBLISHES_IN_FLIGHT_MAX);
        // The window's permits bound what is queued, so that there is always room.
        let (requests, queued) = mpsc::channel(window);
        let stream = client.broker().publish_stream(ReceiverStream::new(queued)).await;
        let replies = client.asked(stream)?;
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        tokio::spawn(answer_callers(replies, Arc::clone(&waiting), Arc::clone(client.address())));
        Ok(Self { requests, window: Arc::new(Semaphore::new(window)), waiting })
    }

    /// Publishes a batch: one answer per message, in order. Waits while the window is full.
    ///
    /// # Errors
    /// As [`crate::Broker::publish`].
    pub async fn publish(&self, topic: TopicPath, messages: Vec<NewMessage>) -> Result<Results, Error> {
        let _permit = self.window.acquire().await.map_err(|_| closed())?;
        let answer = self.send(&topic, messages)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Queues a request, and its caller at the same place.
    fn send(&self, topic: &TopicPath, messages: Vec<NewMessage>) -> Result<oneshot::Receiver<Answer>, Error> {
        let messages = messages.into_iter().map(convert::new_message_into).collect();
        let mut waiting = lock(&self.waiting);
        if let Some(error) = &waiting.over {
            return Err(error.clone());
        }
        waiting.next_id += 1;
        let request = PublishRequest {
            request_id: waiting.next_id,
            namespace: topic.namespace.as_str().to_owned(),
            topic: topic.topic.as_str().to_owned(),
            messages,
        };
        let request_id = request.request_id;
        self.requests.try_send(request).map_err(|_| closed())?;
        let (caller, answer) = oneshot::channel();
        waiting.callers.push_back((request_id, caller));
        Ok(answer)
    }
}

fn closed() -> Error {
    Error::new(Code::Unreachable, "the publisher's stream is over; nothing of the request was sent")
        .with_hint("open another publisher")
}

/// Hands replies to the callers in turn, until the stream is over; then tells all that wait.
async fn answer_callers(mut replies: Streaming<PublishReply>, waiting: Arc<Mutex<Waiting>>, address: Arc<str>) {
    let error = loop {
        match replies.message().await {
            Ok(Some(reply)) => {
                let caller = lock(&waiting).callers.pop_front();
                match caller {
                    Some((id, caller)) if id == reply.request_id => {
                        // A caller that went away does not want to know.
                        let _ = caller.send(answer(reply));
                    }
                    Some(_) | None => break lost("the broker answered out of turn", Effect::Changes, &address),
                }
            }
            Ok(None) => break lost("the broker ended the stream", Effect::Changes, &address),
            Err(status) => break error_of(&status, Effect::Changes, &address),
        }
    };
    let callers = {
        let mut waiting = lock(&waiting);
        waiting.over = Some(closed());
        std::mem::take(&mut waiting.callers)
    };
    for (_, caller) in callers {
        // Their requests may have been read: whatever ended the stream, that is not known.
        let error = match error.code {
            Code::OutcomeUnknown => error.clone(),
            _ => lost(&error.message, Effect::Changes, &address),
        };
        let _ = caller.send(Err(error));
    }
}

fn answer(reply: PublishReply) -> Answer {
    match reply.error {
        Some(error) => Err(status::from_proto(error)),
        None => Ok(reply.results.into_iter().map(convert::published_from).collect()),
    }
}
