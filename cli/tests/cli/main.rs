//! The binary as its users meet it: real processes, real sockets, real files.

mod bench;
mod check;
mod commands;
mod consume;
mod crash;
mod lines;
mod oracle;
mod schedules;
mod server;
mod settings;
mod store_failure;
mod support;
mod usage;
