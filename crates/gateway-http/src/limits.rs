//! The limits of this door that are not the broker's: what a connection, a request and a line may
//! take before anything of it is understood. Sizes of messages and batches come from
//! [`punctual_broker_api::Limits`].

use std::time::Duration;

/// Bytes of a request line and its headers; more is answered 431.
pub(crate) const HEAD_BYTES_MAX: usize = 128 << 10;
/// From the first byte of a request, or from the last answer, until its headers are complete:
/// what ends an idle connection also ends one that drips its headers.
pub(crate) const HEAD_WAIT: Duration = Duration::from_secs(75);
/// Between two pieces of a request body.
pub(crate) const BODY_STALL: Duration = Duration::from_secs(30);
/// The slowest sender that is waited for: a body may take [`BODY_STALL`] and a second for each so
/// many bytes. 4 KiB/s is half of a 64 kbit/s line.
pub(crate) const BODY_BYTES_PER_SECOND_MIN: u64 = 4 << 10;
/// Between two pieces of an NDJSON stream, whose sender may have nothing to say for a while.
pub(crate) const STREAM_STALL: Duration = Duration::from_secs(300);
/// A peer that takes nothing of an answer for so long is given up.
pub(crate) const WRITE_STALL: Duration = Duration::from_secs(60);
/// Bytes of request bodies held at once, over all connections; more is answered `overloaded`.
pub(crate) const BODIES_BYTES_MAX: usize = 512 << 20;
/// Bytes of a JSON document that carries no message: settings, receipts.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 4 << 20;
/// What field names, handles and punctuation of a JSON batch or line may take beside its bodies.
pub(crate) const JSON_SLACK_BYTES: usize = 1 << 20;
/// Values of one JSON document or message, so that `[1,1,1,…]` cannot grow thirty-fold in memory.
pub(crate) const JSON_VALUES_MAX: usize = 1 << 16;
/// Bytes of a body that nobody wants which are read and dropped, so that the connection can be used again.
pub(crate) const UNWANTED_BYTES_MAX: u64 = 64 << 10;
/// Lines of an NDJSON stream in one call to the broker.
pub(crate) const STREAM_BATCH_LINES: usize = 1000;
/// Bytes of NDJSON lines after which a call to the broker is made.
pub(crate) const STREAM_BATCH_BYTES: usize = 1 << 20;
/// After the last answer of a connection: what its peer was still sending is read and dropped for
/// so long, so that a reset does not overtake the answer.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
/// Connections over the limit that are told so at one time; the rest is closed without a word.
pub(crate) const REFUSALS_AT_ONCE: usize = 64;
/// How long accepting pauses when the system has no descriptor left.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long requests in flight may take once the broker stops.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(10);
/// Bytes of a value that are quoted in an error.
pub(crate) const QUOTED_BYTES_MAX: usize = 64;
