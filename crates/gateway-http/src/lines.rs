//! The lines of a streamed request body, in batches of what has arrived.
//!
//! Holds one batch and at most one unfinished line; a line over the limit is passed over without
//! being held, and reported in its place. A body that breaks off mid-line never yields that line.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Frame;
use punctual_broker_api::{Code, Error};
use tokio::time::timeout;

use crate::{body::Held, limits};

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(Bytes),
    TooLong,
}

/// Lines as they arrive.
pub(crate) struct Lines {
    body: Body,
    held: Held,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of a line.
    searched: usize,
    /// Whether the buffer begins inside a line that was given up.
    skipping: bool,
    ended: bool,
    /// What broke the body off; told once the lines before it were.
    fault: Option<Error>,
    line_bytes_max: usize,
}

impl Lines {
    pub(crate) fn new(body: Body, held: Held, line_bytes_max: usize) -> Self {
        Self {
            body,
            held,
            buffer: BytesMut::new(),
            searched: 0,
            skipping: false,
            ended: false,
            fault: None,
            line_bytes_max,
        }
    }

    /// The next lines: waits for the first, and takes with it what else is there already. Empty
    /// at the end of the body, and what broke it off when something did.
    pub(crate) async fn next_batch(&mut self) -> Result<Vec<Line>, Error> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        loop {
            while batch.len() < limits::STREAM_BATCH_LINES && bytes < limits::STREAM_BATCH_BYTES {
                let Some(line) = self.cut_line() else { break };
                if let Line::Text(text) = &line {
                    bytes += text.len();
                    // A blank line is not a message: files end with one.
                    if text.iter().all(u8::is_ascii_whitespace) {
                        continue;
                    }
                }
                batch.push(line);
            }
            let full = batch.len() >= limits::STREAM_BATCH_LINES || bytes >= limits::STREAM_BATCH_BYTES;
            if full || self.ended {
                return Ok(batch);
            }
            if batch.is_empty() {
                if let Some(fault) = self.fault.take() {
                    return Err(fault);
                }
                self.read().await;
            } else if self.fault.is_some() || !self.read_what_is_there() {
                return Ok(batch);
            }
        }
    }

    fn cut_line(&mut self) -> Option<Line> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        if let Some(found) = memchr::memchr(b'\n', unsearched) {
            let mut line = self.buffer.split_to(self.searched + found + 1);
            self.searched = 0;
            line.truncate(line.len() - 1);
            return Some(self.finish_line(line));
        }
        self.searched = self.buffer.len();
        if self.buffer.len() > self.line_bytes_max {
            self.skipping = true;
        }
        if self.skipping {
            self.buffer.clear();
            self.searched = 0;
        }
        // The last line needs no end of its own.
        if self.ended && (self.skipping || !self.buffer.is_empty()) {
            let line = self.buffer.split();
            self.searched = 0;
            return Some(self.finish_line(line));
        }
        None
    }

    fn finish_line(&mut self, line: BytesMut) -> Line {
        let too_long = std::mem::take(&mut self.skipping) || line.len() > self.line_bytes_max;
        if too_long { Line::TooLong } else { Line::Text(line.freeze()) }
    }

    async fn read(&mut self) {
        match timeout(limits::STREAM_STALL, self.body.frame()).await {
            Ok(frame) => self.take(frame),
            Err(_) => self.broke("the stream of messages stood still for too long"),
        }
    }

    /// Reads a piece that has arrived; whether there was one, or the end.
    fn read_what_is_there(&mut self) -> bool {
        match self.body.frame().now_or_never() {
            None => false,
            Some(frame) => {
                self.take(frame);
                true
            }
        }
    }

    fn take(&mut self, frame: Option<Result<Frame<Bytes>, axum::Error>>) {
        match frame {
            None => self.ended = true,
            Some(Err(error)) => self.broke(&format!("cannot read the stream of messages: {error}")),
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { return };
                match self.held.resize(self.buffer.len() + data.len()) {
                    Ok(()) => self.buffer.extend_from_slice(&data),
                    Err(overloaded) => self.fault = Some(overloaded),
                }
            }
        }
    }

    fn broke(&mut self, how: &str) {
        self.fault = Some(Error::new(Code::MalformedRequest, how));
    }
}
