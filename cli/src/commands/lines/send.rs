//! One chunk on its way, until every line of it has its answer.

use std::{future::Future, time::Duration};

use punctual_broker_api::{Code, DelayMs, Error, Kind, NewMessage, Published, TopicPath};
use punctual_client::{Client, Publisher};
use tokio::sync::Mutex;

use super::reader::{Chunk, LineNumber};
use crate::{
    connection::Connection,
    failure::Failure,
    output::Output,
    stopwatch::{Stopwatch, pause},
};

/// The first pause before what was not taken is sent again; each later one is twice as long.
const BACK_OFF_FIRST: Duration = Duration::from_millis(50);
/// The longest pause.
const BACK_OFF_MAX: Duration = Duration::from_secs(2);

/// The answers to a chunk.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// Lines that are stored.
    pub published: Vec<(LineNumber, Published)>,
    /// Lines that are not, or nobody knows.
    pub failed: Vec<(LineNumber, Error)>,
    /// Bytes of the file that these lines took.
    pub bytes: u64,
}

/// Sends chunks, in their order, on one stream, which is opened again after it broke.
pub(crate) struct Sender {
    client: Client,
    stream: Mutex<Stream>,
    /// Requests that may be under way on the stream.
    window: usize,
    output: Output,
    topic: TopicPath,
    retry_for: Duration,
}

/// The stream in use, and how many there were before it.
#[derive(Default)]
struct Stream {
    number: u64,
    publisher: Option<Publisher>,
}

/// What to do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Send it again: nothing of it was accepted, or a dedup id makes that safe.
    Again,
    /// It is an answer.
    Answer,
}

fn next_after(error: &Error, message: &NewMessage) -> Next {
    match error.kind() {
        Kind::Overloaded | Kind::Unavailable => Next::Again,
        Kind::UnknownOutcome if message.dedup_id.is_some() => Next::Again,
        Kind::UnknownOutcome
        | Kind::Invalid
        | Kind::Unauthenticated
        | Kind::Forbidden
        | Kind::NotFound
        | Kind::Conflict
        | Kind::TooLarge
        | Kind::Internal => Next::Answer,
    }
}

/// Whether every other chunk would be refused for the same reason.
fn is_final(error: &Error) -> bool {
    match error.kind() {
        Kind::Unauthenticated | Kind::Forbidden | Kind::NotFound => true,
        Kind::Invalid
        | Kind::Conflict
        | Kind::TooLarge
        | Kind::Overloaded
        | Kind::Unavailable
        | Kind::UnknownOutcome
        | Kind::Internal => false,
    }
}

impl Sender {
    /// Sends to a topic.
    pub(crate) fn new(connection: Connection, topic: TopicPath, retry_for: DelayMs, window: usize) -> Self {
        let output = connection.shared.output();
        let retry_for = Duration::from_millis(retry_for.ms());
        Self { client: connection.client, stream: Mutex::default(), window, output, topic, retry_for }
    }

    /// Publishes on the stream; one that broke is put away, so that the next attempt opens another.
    async fn publish(&self, messages: Vec<NewMessage>) -> Result<Vec<Result<Published, Error>>, Error> {
        // The lock is fair and held only while a stream is opened, so chunks keep their order.
        let (number, publisher) = {
            let mut stream = self.stream.lock().await;
            let publisher = match &stream.publisher {
                Some(publisher) => publisher.clone(),
                None => stream.publisher.insert(self.client.publisher(self.window).await?).clone(),
            };
            (stream.number, publisher)
        };
        let answer = publisher.publish(self.topic.clone(), messages).await;
        if answer.as_ref().is_err_and(|error| matches!(error.kind(), Kind::Unavailable | Kind::UnknownOutcome)) {
            let mut stream = self.stream.lock().await;
            // Of all that failed with one stream the first puts it away, not its successor.
            if stream.number == number {
                *stream = Stream { number: number + 1, publisher: None };
            }
        }
        answer
    }

    /// Sends a chunk until every line has its answer or the time for retries is over.
    pub(crate) fn send(&self, chunk: Chunk) -> impl Future<Output = Result<Answered, Failure>> + '_ {
        let mut answered = Answered { failed: chunk.bad, bytes: chunk.bytes, ..Answered::default() };
        let mut left = chunk.messages;
        async move {
            let retrying = Stopwatch::start();
            let mut back_off = BACK_OFF_FIRST;
            while !left.is_empty() {
                let again = self.attempt(std::mem::take(&mut left), &mut answered).await?;
                let Some((_, _, error)) = again.first() else { break };
                if retrying.elapsed() >= self.retry_for {
                    answered.failed.extend(again.into_iter().map(|(line, _, error)| (line, error)));
                    break;
                }
                if back_off == BACK_OFF_FIRST {
                    self.output.note(&format!("trying again: {error} [{}]", error.code.slug()));
                }
                pause(error.retry_after_ms.map_or(back_off, Duration::from_millis).min(BACK_OFF_MAX)).await;
                back_off = (back_off * 2).min(BACK_OFF_MAX);
                left = again.into_iter().map(|(line, message, _)| (line, message)).collect();
            }
            Ok(answered)
        }
    }

    /// Sends once; answers what is to be sent again, with the reason.
    async fn attempt(
        &self,
        messages: Vec<(LineNumber, NewMessage)>,
        answered: &mut Answered,
    ) -> Result<Vec<(LineNumber, NewMessage, Error)>, Failure> {
        let batch = messages.iter().map(|(_, message)| message.clone()).collect();
        let results = match self.publish(batch).await {
            Ok(results) => results,
            Err(error) if is_final(&error) => return Err(error.into()),
            Err(error) => vec![Err(error); messages.len()],
        };
        let missing = || Err(Error::new(Code::OutcomeUnknown, "the broker answered fewer results than it was sent"));
        let results = results.into_iter().chain(std::iter::repeat_with(missing));
        let mut again = Vec::new();
        for ((line, message), result) in messages.into_iter().zip(results) {
            match result {
                Ok(published) => answered.published.push((line, published)),
                Err(error) => match next_after(&error, &message) {
                    Next::Again => again.push((line, message, error)),
                    Next::Answer => answered.failed.push((line, error)),
                },
            }
        }
        Ok(again)
    }
}
