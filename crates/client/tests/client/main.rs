//! The client's promises: over the embedded broker with clocks that are moved by hand, and over a
//! real door.
mod consume;
mod guards;
mod lease;
mod metrics;
mod postgres;
mod remote;
mod stop;
mod support;
mod trace;
