//! From a file to chunks of messages, on a thread of its own.

use std::path::Path;

use bytes::Bytes;
use punctual_broker_api::{Code, Error, NewMessage};
use tokio::sync::mpsc;

use super::line_reader::{LineReader, Next};
use crate::{exit::Exit, failure::Failure, limits::LINE_BYTES_MAX, message_line};

/// Bytes of bodies after which a chunk is full.
const CHUNK_BYTES: usize = 1 << 20;

/// A line's number, from 1.
pub(crate) type LineNumber = u64;

/// Lines that were read together.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// What is to be published.
    pub messages: Vec<(LineNumber, NewMessage)>,
    /// What cannot be.
    pub bad: Vec<(LineNumber, Error)>,
    /// Bytes of the file that these lines took.
    pub bytes: u64,
}

/// How lines get their dedup ids.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    prefix: Option<String>,
}

impl Numbering {
    /// The caller's prefix, or one of this run alone, or none at all.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub(crate) fn new(template: &NewMessage, off: bool) -> Result<Self, Failure> {
        if off {
            return Ok(Self { prefix: None });
        }
        if let Some(prefix) = &template.dedup_id {
            return Ok(Self { prefix: Some(prefix.clone()) });
        }
        let random = crate::random::number()?;
        Ok(Self { prefix: Some(format!("lines-{random:016x}")) })
    }

    fn id(&self, line: LineNumber) -> Option<String> {
        self.prefix.as_ref().map(|prefix| format!("{prefix}:{line}"))
    }
}

/// How lines are read.
#[derive(Debug)]
pub(crate) struct Form {
    /// Every line is a body.
    pub raw: bool,
    /// What a line leaves out.
    pub template: NewMessage,
    /// Where dedup ids come from.
    pub numbering: Numbering,
    /// Messages of a chunk.
    pub batch: usize,
}

impl Form {
    fn message(&self, number: LineNumber, line: Vec<u8>) -> Result<NewMessage, Error> {
        let defaults = NewMessage { dedup_id: None, ..self.template.clone() };
        let object = !self.raw && line.trim_ascii_start().first() == Some(&b'{');
        let mut message = if object {
            message_line::parse(&line, &defaults)?
        } else {
            NewMessage { body: Bytes::from(line), ..defaults }
        };
        if message.dedup_id.is_none() {
            message.dedup_id = self.numbering.id(number);
        }
        Ok(message)
    }
}

/// Reads the whole file, `-` for standard input. Ends early when nobody takes chunks any more.
///
/// # Errors
/// When the file cannot be opened or read.
pub(crate) fn read_chunks(path: &Path, form: Form, chunks: &mpsc::Sender<Chunk>) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::new(Exit::Failed, format!("cannot read `{}`: {error}", path.display()));
    if path == Path::new("-") {
        return read_from(std::io::stdin().lock(), form, chunks).map_err(fail);
    }
    read_from(std::fs::File::open(path).map_err(fail)?, form, chunks).map_err(fail)
}

fn read_from(source: impl std::io::Read, form: Form, chunks: &mpsc::Sender<Chunk>) -> std::io::Result<()> {
    let mut lines = LineReader::new(source, LINE_BYTES_MAX);
    let mut number: LineNumber = 0;
    let mut chunk = Chunk::default();
    let mut chunk_bytes = 0;
    let mut bytes_before = 0;
    loop {
        let next = lines.next()?;
        number += 1;
        match next {
            Next::End => break,
            Next::Line(line) if line.is_empty() => {}
            Next::Line(line) => {
                chunk_bytes += line.len();
                match form.message(number, line) {
                    Ok(message) => chunk.messages.push((number, message)),
                    Err(error) => chunk.bad.push((number, error)),
                }
            }
            Next::TooLong => {
                let message = format!("the line is longer than {LINE_BYTES_MAX} bytes");
                chunk.bad.push((number, Error::new(Code::BodyTooLarge, message)));
            }
        }
        // Whatever stands in a pipe is sent before the next read waits for more.
        let full = chunk.messages.len() + chunk.bad.len() >= form.batch || chunk_bytes >= CHUNK_BYTES;
        if full || !lines.has_line() {
            chunk.bytes = lines.bytes - bytes_before;
            (bytes_before, chunk_bytes) = (lines.bytes, 0);
            if chunks.blocking_send(std::mem::take(&mut chunk)).is_err() {
                return Ok(());
            }
        }
    }
    chunk.bytes = lines.bytes - bytes_before;
    // When nobody takes it, nobody wants it.
    let _ = chunks.blocking_send(chunk);
    Ok(())
}
