//! Lines of bounded length from any reader.

use std::io::{BufRead, BufReader, Read};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A line, without its end, which may be `\n` or `\r\n`.
    Line(Vec<u8>),
    /// A line that was too long; it has been passed over.
    TooLong,
    /// The end.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    inner: BufReader<R>,
    line_bytes_max: usize,
    /// Bytes read so far.
    pub bytes: u64,
}

impl<R: Read> LineReader<R> {
    /// Reads lines from `inner`, none longer than `line_bytes_max`.
    pub(crate) fn new(inner: R, line_bytes_max: usize) -> Self {
        Self { inner: BufReader::with_capacity(BUFFER_BYTES, inner), line_bytes_max, bytes: 0 }
    }

    /// Whether a whole line lies in memory, so that the next one can be had without waiting.
    pub(crate) fn has_line(&self) -> bool {
        self.inner.buffer().contains(&b'\n')
    }

    /// The next line.
    ///
    /// # Errors
    /// Those of the reader.
    pub(crate) fn next(&mut self) -> std::io::Result<Next> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let buffer = self.inner.fill_buf()?;
            if buffer.is_empty() {
                return Ok(match (too_long, line.is_empty()) {
                    (true, _) => Next::TooLong,
                    (false, true) => Next::End,
                    (false, false) => Next::Line(line),
                });
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            too_long |= line.len() + piece.len() > self.line_bytes_max;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.inner.consume(used);
            self.bytes += used as u64;
            if end.is_some() {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(if too_long { Next::TooLong } else { Next::Line(line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<Next> {
        let mut reader = LineReader::new(text, 3);
        std::iter::from_fn(|| match reader.next().expect("memory does not fail") {
            Next::End => None,
            next @ (Next::Line(_) | Next::TooLong) => Some(next),
        })
        .collect()
    }

    fn line(text: &str) -> Next {
        Next::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_with_or_without_carriage_returns_and_the_last_needs_no_end() {
        assert_eq!(lines(b"a\n\nb\r\nc"), [line("a"), line(""), line("b"), line("c")]);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        use crate::limits::LINE_BYTES_MAX;
        let mut text = vec![b'x'; LINE_BYTES_MAX];
        text.push(b'\n');
        text.resize(2 * LINE_BYTES_MAX + 2, b'y');
        let mut reader = LineReader::new(text.as_slice(), LINE_BYTES_MAX);
        let mut next = || reader.next().expect("memory does not fail");
        assert!(matches!(next(), Next::Line(line) if line.len() == LINE_BYTES_MAX));
        assert_eq!(next(), Next::TooLong);
        assert_eq!(next(), Next::End);
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over_and_the_next_is_read() {
        assert_eq!(lines(b"abc\nabcd\nb\nabcdefg"), [line("abc"), Next::TooLong, line("b"), Next::TooLong]);
    }
}
