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
/// Requests of a [`crate::Publisher`] in flight at the most, whatever its window.
pub(crate) const PUBLISHES_IN_FLIGHT_MAX: usize = 256;
