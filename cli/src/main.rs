//! The binary `punctual`: the broker and everything that talks to it from a command line.

mod args;
mod commands;
mod connection;
mod exit;
mod failure;
mod json;
mod limits;
mod message_line;
mod output;
mod random;
mod serve;
mod stopwatch;
mod store_failure;
mod table;

use std::process::ExitCode;

use clap::Parser as _;

use args::Arguments;
use exit::Exit;
use failure::Failure;

fn main() -> ExitCode {
    // Ends the process itself, with code 2, when the command line is wrong.
    let arguments = Arguments::parse();
    let json = arguments.shared.json;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            Failure::new(Exit::Failed, format!("cannot start threads: {error}")).print(json);
            return Exit::Failed.into();
        }
    };
    let result = runtime.block_on(commands::run(arguments));
    // A thread may be blocked for ever in a read of stdin or, after a failed disk, in a write.
    // What had to be waited for was waited for in the command.
    runtime.shutdown_background();
    match result {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            failure.print(json);
            failure.exit.into()
        }
    }
}
