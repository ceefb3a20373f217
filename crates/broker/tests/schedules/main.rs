//! Recurring schedules: each nominal time runs once, whatever happens in between.

mod crashes;
mod rig;
mod runs;
mod settings;
#[path = "../support/mod.rs"]
mod support;
