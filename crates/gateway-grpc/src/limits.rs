//! The bounds of this door. Bounds of messages and batches are the broker's (`broker_api::Limits`).

use std::time::Duration;

/// How long requests in flight may take to be answered once the door stops.
pub const STOP_GRACE: Duration = Duration::from_secs(10);
/// Bytes of a request beyond those that the broker counts as its batch: field tags and lengths of
/// ten thousand messages, and names.
pub const REQUEST_OVERHEAD_BYTES_MAX: usize = 4 << 20;
/// Calls and streams of one connection at once; further ones wait at the client.
pub const STREAMS_PER_CONNECTION_MAX: u32 = 1024;
/// Bytes of the headers of one call.
pub const CALL_HEADERS_BYTES_MAX: u32 = 16 << 10;
/// Bytes that a client may send ahead on one stream: two full-sized bodies' worth in flight on a
/// fast link, and no more than that buffered for a stream nobody reads.
pub const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Bytes that a client may send ahead on one connection.
pub const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// Bytes of requests that are not yet sent whole, over all connections; more is answered
/// `overloaded`.
pub const REQUESTS_BYTES_MAX: usize = 512 << 20;
/// The same on one connection: six full batches at once.
pub const REQUESTS_BYTES_PER_CONNECTION_MAX: usize = 128 << 20;
/// How long a message that has begun may take to come whole, beside what its length allows it.
pub const MESSAGE_WAIT: Duration = Duration::from_secs(30);
/// The slowest sender that is waited for: [`MESSAGE_WAIT`] and a second for each so many bytes.
pub const MESSAGE_BYTES_PER_SECOND_MIN: u64 = 4 << 10;
/// Bytes of replies that wait for their connections to take them, over all connections.
pub const REPLIES_BYTES_MAX: usize = 512 << 20;
/// The same on one connection: its streams wait for one another beyond that.
pub const REPLIES_BYTES_PER_CONNECTION_MAX: usize = 32 << 20;
/// Replies shorter than this are not counted.
pub const COUNTED_REPLY_BYTES_MIN: usize = 4 << 10;
/// How long a reply waits for others to take theirs before its call is answered `overloaded`.
pub const REPLY_ROOM_WAIT: Duration = Duration::from_secs(10);
/// How often an idle connection is asked whether it is alive: often enough that the leases of a
/// vanished consumer return within minutes, seldom enough that thousands of idle ones cost nothing.
pub const PING_INTERVAL: Duration = Duration::from_secs(60);
/// How long the answer to that may take.
pub const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a new connection may take to send its first bytes.
pub const FIRST_BYTES_WAIT_MAX: Duration = Duration::from_secs(10);
/// Connections over the limit that are told so at once; those beyond are closed without a word.
pub const REFUSALS_MAX: usize = 64;
/// How long a connection over the limit is kept to be told so.
pub const REFUSAL_LIFETIME: Duration = Duration::from_secs(1);
/// How long a failed accept (no descriptor left) keeps the door from trying the next.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// When a refused connection or call may be tried again.
pub const RETRY_AFTER_MS: u64 = 1000;
/// Requests of one PublishStream in flight: the next is read when the first of them was answered.
pub const PUBLISHES_IN_FLIGHT_MAX: usize = 256;
/// Bytes of one PublishStream in flight.
pub const PUBLISH_BYTES_IN_FLIGHT_MAX: usize = 32 << 20;
/// Requests of one Subscribe in flight (acks and the like): the next is read when the first of
/// them was answered and its answer taken.
pub const SUBSCRIBE_REQUESTS_IN_FLIGHT_MAX: usize = 64;
/// Replies of a stream that wait for the connection to take them.
pub const REPLIES_BUFFERED_MAX: usize = 16;
/// Bytes of bodies in one `Deliveries` after which the next delivery begins another: most gRPC
/// libraries refuse messages over 4 MiB unless told otherwise.
pub const DELIVERIES_BYTES: usize = 1 << 20;
/// Bytes of bodies that a Receive without `max_bytes` answers, for the same reason.
pub const RECEIVE_BYTES_DEFAULT: u64 = 3 << 20;
/// How often somebody who watches the health is looked after.
pub const HEALTH_WATCH_INTERVAL: Duration = Duration::from_secs(1);
