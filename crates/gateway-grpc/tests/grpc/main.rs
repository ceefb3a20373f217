//! The gRPC door over real sockets: before the real broker, and before a scripted one where a test
//! needs what the real one does not do on demand.

mod bad_input;
mod by_script;
mod consumer;
mod door;
mod limits;
mod publish_stream;
mod schedules;
mod subscribe_stream;
mod support;
mod tour;
