//! The bounds of a client.

use std::time::Duration;

/// How long connecting may take.
pub(crate) const CONNECT_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often the broker is asked whether it is still there while nothing else is said.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(60);
/// How long the answer to that may take.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of one answer: a page of a thousand messages with bodies may be large.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Bytes that the broker may send ahead on one stream.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 4 << 20;
/// Bytes that the broker may send ahead on the connection.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// How long a consumer that is closed waits for the broker to end its stream.
pub(crate) const CLOSE_WAIT_MAX: Duration = Duration::from_secs(10);
/// The first wait before something is tried again, at the most.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// The longest wait before something is tried again.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Messages that a worker handles at once.
pub(crate) const CONCURRENCY_MAX: u32 = 10_000;
/// How long a worker that is stopped lets its handlers run on, unless it is told otherwise.
pub(crate) const STOP_WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// How long a marker claims a message, unless it is told otherwise.
pub(crate) const MARKER_CLAIM_DEFAULT: Duration = Duration::from_secs(300);
/// How long a marker notes that a message was handled, unless it is told otherwise.
pub(crate) const MARKER_KEPT_DEFAULT: Duration = Duration::from_secs(24 * 3600);
/// Bytes of a `tracestate` that is carried on; the standard asks for at least so many.
pub(crate) const TRACESTATE_BYTES_MAX: usize = 512;
/// Members of a `tracestate`, by the standard.
pub(crate) const TRACESTATE_MEMBERS_MAX: usize = 32;
/// Requests of a [`crate::Publisher`] in flight at the most, whatever its window.
pub(crate) const PUBLISHES_IN_FLIGHT_MAX: usize = 256;
