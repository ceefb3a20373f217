//! Lines cut out of a body that arrives in pieces.

use axum::body::Body;
use bytes::Bytes;
use futures_util::{FutureExt, stream};

use crate::{
    body::{Bodies, Held},
    lines::{Line, Lines},
};

const LINE_BYTES_MAX: usize = 8;

fn lines_of(pieces: Vec<Result<&'static str, std::io::Error>>) -> Lines {
    let body = Body::from_stream(stream::iter(pieces.into_iter().map(|piece| piece.map(Bytes::from))));
    Lines::new(body, Held::none(Bodies::new(prometheus_client::metrics::gauge::Gauge::default())), LINE_BYTES_MAX)
}

/// Every line of a body, batches joined, and how it ended.
async fn read(pieces: Vec<Result<&'static str, std::io::Error>>) -> String {
    let mut lines = lines_of(pieces);
    let mut shown = Vec::new();
    loop {
        let batch = lines.next_batch().await;
        match batch {
            Ok(batch) if batch.is_empty() => return shown.join(" "),
            Ok(batch) => shown.extend(batch.into_iter().map(|line| match line {
                Line::Text(text) => String::from_utf8_lossy(&text).into_owned(),
                Line::TooLong => "TOO-LONG".to_owned(),
            })),
            Err(error) => {
                shown.push(error.code.slug().to_owned());
                return shown.join(" ");
            }
        }
    }
}

#[tokio::test]
async fn lines_are_the_same_wherever_the_body_is_cut() {
    let text = "a\nbb\r\n\n  \nccc\nd";
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let pieces = [text.get(..first), text.get(first..second), text.get(second..)];
            let pieces = pieces.into_iter().map(|piece| Ok(piece.expect("ASCII"))).collect();
            assert_eq!(read(pieces).await, "a bb\r ccc d", "cut at {first} and {second}");
        }
    }
}

#[tokio::test]
async fn a_line_over_the_limit_is_passed_over_and_the_next_one_is_read() {
    assert_eq!(read(vec![Ok("12345678\n123456789\nok\n")]).await, "12345678 TOO-LONG ok");
    assert_eq!(read(vec![Ok("123456"), Ok("789"), Ok("0123"), Ok("4\nok\n")]).await, "TOO-LONG ok");
    assert_eq!(read(vec![Ok("ok\n123456"), Ok("789")]).await, "ok TOO-LONG");
    assert_eq!(read(vec![Ok("12345678"), Ok("\nok")]).await, "12345678 ok");
}

#[tokio::test]
async fn a_body_that_breaks_off_does_not_yield_its_unfinished_line() {
    let broken = || Err(std::io::Error::other("reset"));
    assert_eq!(read(vec![Ok("a\n{\"body\":\"half"), broken()]).await, "a malformed_request");
    assert_eq!(read(vec![broken()]).await, "malformed_request");
}

#[tokio::test]
async fn what_has_arrived_is_one_batch_and_the_rest_is_not_waited_for() {
    let arrived = stream::iter([Ok::<_, std::io::Error>(Bytes::from("a\nb\nc"))]);
    let later = stream::pending();
    let body = Body::from_stream(futures_util::StreamExt::chain(arrived, later));
    let held = Held::none(Bodies::new(prometheus_client::metrics::gauge::Gauge::default()));
    let mut lines = Lines::new(body, held, LINE_BYTES_MAX);
    let batch = lines.next_batch().now_or_never().expect("a batch").expect("lines");
    assert_eq!(batch, [Line::Text("a".into()), Line::Text("b".into())]);
    assert!(lines.next_batch().now_or_never().is_none(), "the third line has not ended");
}
