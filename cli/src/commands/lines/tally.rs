//! What became of the lines: counts, the progress bar, the summary.

use std::{fmt::Write as _, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use punctual_broker_api::{Kind, PublishStatus};
use serde_json::{Value, json};

use super::send::Answered;
use crate::{failure::Failure, json, output::Output, stopwatch::Stopwatch};

/// How often the bar is drawn while nothing happens.
const TICK: Duration = Duration::from_millis(200);

/// Counts of lines.
#[derive(Debug)]
pub(crate) struct Tally {
    output: Output,
    bar: ProgressBar,
    watch: Stopwatch,
    accepted: u64,
    duplicate: u64,
    replaced: u64,
    kept: u64,
    refused: u64,
    unknown: u64,
}

impl Tally {
    /// Begins to count; with a bar when somebody watches.
    pub(crate) fn begin(output: Output, bytes_total: Option<u64>) -> Self {
        let bar = match (output.watched(), bytes_total) {
            (false, _) => ProgressBar::hidden(),
            (true, Some(bytes)) => bar(ProgressBar::new(bytes), "{bar:40} {percent:>3}%  {msg}"),
            (true, None) => bar(ProgressBar::no_length(), "{spinner} {msg}"),
        };
        let watch = Stopwatch::start();
        Self { output, bar, watch, accepted: 0, duplicate: 0, replaced: 0, kept: 0, refused: 0, unknown: 0 }
    }

    /// Counts the answers to a chunk and prints what there is to say about its lines.
    pub(crate) fn add(&mut self, answered: Answered) -> Result<(), Failure> {
        let mut text = String::new();
        for (line, published) in &answered.published {
            match &published.status {
                PublishStatus::Accepted | PublishStatus::Prepared => self.accepted += 1,
                PublishStatus::Duplicate => self.duplicate += 1,
                PublishStatus::Replaced { .. } => self.replaced += 1,
                PublishStatus::Kept => self.kept += 1,
            }
            if self.output.json {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{}", with_line(*line, json::published(published)));
            }
        }
        for (line, error) in &answered.failed {
            if error.kind() == Kind::UnknownOutcome {
                self.unknown += 1;
            } else {
                self.refused += 1;
            }
            if self.output.json {
                let _ = writeln!(text, "{}", with_line(*line, json!({"error": json::error(error)})));
            }
            self.bar.suspend(|| self.output.note(&format!("line {line}: {error} [{}]", error.code.slug())));
        }
        if !text.is_empty() {
            self.output.print_bytes(text.trim_end().as_bytes())?;
        }
        self.bar.inc(answered.bytes);
        self.bar.set_message(format!("{} messages, {}/s", self.published(), self.rate()));
        Ok(())
    }

    /// Ends the bar and prints the summary.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        let lines = self.published() + self.refused + self.unknown;
        let seconds = self.watch.elapsed().as_secs_f64();
        let object = json!({"summary": {
            "lines": lines, "published": self.published(), "accepted": self.accepted, "duplicate": self.duplicate,
            "replaced": self.replaced, "kept": self.kept, "refused": self.refused, "unknown": self.unknown,
            "seconds": seconds, "per_second": self.rate(),
        }});
        self.output.print(&object, || {
            let mut text =
                format!("published {} of {lines} lines in {seconds:.1} s, {}/s", self.published(), self.rate());
            let others = [
                (self.duplicate, "duplicates"),
                (self.replaced, "replaced"),
                (self.kept, "kept"),
                (self.refused, "refused"),
                (self.unknown, "of unknown outcome"),
            ];
            for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
                let _ = write!(text, "; {count} {what}");
            }
            text
        })
    }

    /// Whether every line is stored.
    pub(crate) fn all_done(&self) -> bool {
        self.refused == 0 && self.unknown == 0
    }

    fn published(&self) -> u64 {
        self.accepted + self.duplicate + self.replaced + self.kept
    }

    fn rate(&self) -> u64 {
        let seconds = self.watch.elapsed().as_secs_f64();
        if seconds > 0.0 { (self.published() as f64 / seconds) as u64 } else { 0 }
    }
}

fn bar(bar: ProgressBar, template: &str) -> ProgressBar {
    // The templates are constants of this file; a bad one would show the default bar.
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.enable_steady_tick(TICK);
    bar
}

fn with_line(line: u64, object: Value) -> Value {
    let mut into = serde_json::Map::new();
    into.insert("line".to_owned(), line.into());
    if let Value::Object(fields) = object {
        into.extend(fields);
    }
    Value::Object(into)
}
