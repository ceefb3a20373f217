//! `publish --lines`: a file of messages goes in by batches, several of them under way at once.
//!
//! A refused line is reported with its number and does not stop the rest. What the broker could
//! not take for the moment is sent again with a back-off. An outcome that nobody knows (the
//! connection broke before the answer) is asked again under the same dedup id, which every line
//! is given from its first attempt on, so that no line is stored twice.

mod line_reader;
mod reader;
mod send;
mod tally;

use std::path::PathBuf;

use clap::Args;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use punctual_broker_api::{DelayMs, NewMessage, TopicPath, parse_duration};
use tokio::sync::mpsc;

use crate::{connection::Connection, exit::Exit, failure::Failure, serve::StopSignals};
use reader::{Chunk, Numbering, read_chunks};
use send::{Answered, Sender};
use tally::Tally;

/// Chunks that are read ahead of the senders. With the bytes of a chunk this bounds the memory.
const CHUNKS_READ_AHEAD: usize = 4;

/// How `--lines` goes about it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "With --lines")]
pub(crate) struct LineOptions {
    /// Every line is a body, also one that is a JSON object
    #[arg(long, conflicts_with = "body")]
    raw: bool,
    /// Messages of a batch
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "body",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    /// Batches under way at once; they are accepted in the order of the file, but for what is sent again
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "body",
        value_parser = clap::value_parser!(u32).range(1..=256))]
    in_flight: u32,
    /// How long to try again what the broker could not take
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "60s", conflicts_with = "body")]
    retry_for: DelayMs,
    /// Give lines no dedup ids: a line whose outcome is unknown is then reported and not sent again
    #[arg(long, conflicts_with_all = ["body", "dedup_id"])]
    no_dedup: bool,
}

/// Publishes every line.
///
/// # Errors
/// When a line was refused or its outcome stays unknown; at once when the whole call is refused
/// (no such namespace, a wrong token).
pub(crate) async fn publish_lines(
    connection: Connection,
    topic: TopicPath,
    path: PathBuf,
    template: NewMessage,
    options: LineOptions,
) -> Result<(), Failure> {
    let numbering = Numbering::new(&template, options.no_dedup)?;
    let (chunks, mut received) = mpsc::channel::<Chunk>(CHUNKS_READ_AHEAD);
    let bytes_total = bytes_of(&path);
    let batch = (options.batch as usize).min(connection.broker.limits().batch_messages_max);
    let reading = tokio::task::spawn_blocking(move || {
        read_chunks(&path, reader::Form { raw: options.raw, template, numbering, batch }, &chunks)
    });
    let output = connection.shared.output();
    let sender = Sender::new(connection, topic, options.retry_for, options.in_flight as usize);
    let mut tally = Tally::begin(output, bytes_total);
    let mut under_way = FuturesUnordered::new();
    let mut signals = StopSignals::listen()?;
    let mut more = true;
    let mut stopped = false;
    // The first batch goes alone: it may have to make the topic, and the next, which would find it
    // made, could overtake it there.
    let mut at_once = 1;
    while more || !under_way.is_empty() {
        tokio::select! {
            biased;
            Some(done) = under_way.next(), if !under_way.is_empty() => {
                let answered: Answered = done?;
                if !answered.published.is_empty() {
                    at_once = options.in_flight as usize;
                }
                tally.add(answered)?;
            }
            chunk = received.recv(), if more && under_way.len() < at_once => match chunk {
                Some(chunk) => under_way.push(sender.send(chunk)),
                None => more = false,
            },
            _ = signals.next() => {
                // The second signal ends the process without waiting for what is under way.
                if stopped { return Err(Failure::told(Exit::Failed)); }
                (more, stopped) = (false, true);
                output.note("stopping: waiting for the batches under way");
            }
        }
    }
    received.close();
    tally.finish()?;
    if stopped {
        return Err(Failure::told(Exit::Failed));
    }
    match reading.await {
        Ok(read) => read?,
        Err(error) => return Err(Failure::new(Exit::Failed, format!("the reader of the lines broke: {error}"))),
    }
    if tally.all_done() { Ok(()) } else { Err(Failure::told(Exit::Failed)) }
}

/// The size of a regular file, for the progress bar.
fn bytes_of(path: &std::path::Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|data| data.len())
}
