//! Publishing a stream of messages: NDJSON in, NDJSON out, a result a line, in order, while lines
//! still arrive.
//!
//! What has arrived goes to the broker as one batch; the next is read when its results are on
//! their way, so that memory is bounded by a batch, and a sender that is faster than the store is
//! slowed by its own connection.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use bytes::Bytes;
use futures_util::stream::unfold;
use punctual_broker_api::{Code, Error, TopicPath};

use crate::{
    answer,
    batch::{self, Messages},
    body,
    door::{Asked, Door},
    lines::{Line, Lines},
};

/// `POST T/messages` with `application/x-ndjson`.
pub(crate) fn publish(asked: Asked, stream: Body) -> Result<Response<Body>, Error> {
    asked.query.finish()?;
    let topic = asked.captures.topic()?;
    let limits = asked.door.broker.limits();
    let line_bytes_max = body::json_bytes_max(limits.body_bytes_max.saturating_add(limits.headers_bytes_max));
    let publishing = Publishing {
        lines: Lines::new(stream, asked.held, line_bytes_max),
        line_bytes_max,
        door: asked.door,
        topic,
        request_id: asked.request_id,
        over: false,
    };
    let results = unfold(publishing, |mut publishing| async move {
        let chunk = publishing.next().await?;
        Some((Ok::<_, Infallible>(chunk), publishing))
    });
    Ok(answer::with_type(StatusCode::OK, "application/x-ndjson", Body::from_stream(results)))
}

struct Publishing {
    door: std::sync::Arc<Door>,
    topic: TopicPath,
    request_id: String,
    lines: Lines,
    line_bytes_max: usize,
    /// Whether an error ended the stream.
    over: bool,
}

impl Publishing {
    /// The results of the next lines; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let mut stop = self.door.stop.clone();
        let batch = tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => {
                Err(Error::new(Code::ShuttingDown, "the broker stops; no later line was taken"))
            }
            batch = self.lines.next_batch() => batch,
        };
        match batch {
            Ok(lines) if lines.is_empty() => None,
            Ok(lines) => Some(self.publish(lines).await),
            Err(error) => {
                // One last line, which belongs to no message, says why there are no more.
                self.over = true;
                let mut text = Vec::new();
                self.write(&mut text, &Err(error));
                Some(text.into())
            }
        }
    }

    async fn publish(&mut self, lines: Vec<Line>) -> Bytes {
        let count = lines.len();
        let messages: Messages = lines.into_iter().map(|line| self.read(line)).collect();
        let mut text = Vec::with_capacity(96 * count);
        match super::publish::publish(&*self.door.broker, self.topic.clone(), messages).await {
            Ok(results) => results.iter().for_each(|result| self.write(&mut text, result)),
            // Nothing of the batch was accepted, and each of its messages is told so.
            Err(error) => (0..count).for_each(|_| self.write(&mut text, &Err(error.clone()))),
        }
        text.into()
    }

    fn read(&self, line: Line) -> Result<punctual_broker_api::NewMessage, Error> {
        match line {
            Line::Text(text) => batch::parse_line(&text),
            Line::TooLong => {
                let problem = format!("the line has more than {} bytes", self.line_bytes_max);
                Err(Error::new(Code::BodyTooLarge, problem).with_field("body"))
            }
        }
    }

    fn write(&self, text: &mut Vec<u8>, result: &Result<punctual_broker_api::Published, Error>) {
        answer::write_result(text, result, &self.request_id);
        text.push(b'\n');
    }
}
