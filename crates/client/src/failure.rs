//! What a failed call means: the broker's own error, or what a broken connection leaves open.

use std::error::Error as _;

use punctual_broker_api::{Code, Error};
use punctual_proto::status::from_status;
use tonic::{ConnectError, Status};

/// What a call does to the broker, which decides what its loss means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It asks, or can be asked again without harm.
    Asks,
    /// It may have changed something before the connection broke.
    Changes,
}

/// The error of a failed call.
pub(crate) fn error_of(status: &Status, effect: Effect, address: &str) -> Error {
    if let Some(error) = from_status(status) {
        return error;
    }
    if never_sent(status) {
        return Error::new(Code::Unreachable, format!("cannot connect to the broker at {address}: {}", cause(status)))
            .with_hint("start the broker, or name the address of its gRPC door");
    }
    let refused = |code| Error::new(code, format!("the broker at {address} refuses the call: {}", status.message()));
    match status.code() {
        tonic::Code::Unauthenticated | tonic::Code::PermissionDenied => refused(Code::TokenUnknown),
        tonic::Code::Unimplemented => refused(Code::RouteNotFound),
        tonic::Code::InvalidArgument => refused(Code::MalformedRequest),
        tonic::Code::Internal if status.source().is_none() => refused(Code::Internal),
        tonic::Code::OutOfRange
        | tonic::Code::NotFound
        | tonic::Code::AlreadyExists
        | tonic::Code::ResourceExhausted
        | tonic::Code::FailedPrecondition => refused(Code::Internal),
        tonic::Code::Ok
        | tonic::Code::Internal
        | tonic::Code::Cancelled
        | tonic::Code::Unknown
        | tonic::Code::DeadlineExceeded
        | tonic::Code::Aborted
        | tonic::Code::Unavailable
        | tonic::Code::DataLoss => lost(&cause(status), effect, address),
    }
}

/// The error of a call whose answer never came.
pub(crate) fn lost(cause: &str, effect: Effect, address: &str) -> Error {
    match effect {
        Effect::Asks => Error::new(Code::Unreachable, format!("the connection to {address} broke: {cause}")),
        Effect::Changes => {
            Error::new(Code::OutcomeUnknown, format!("the connection to {address} broke before the answer: {cause}"))
                .with_hint("it may have happened: look, or publish again with a dedup id")
        }
    }
}

/// Whether there was no connection to send the call on.
fn never_sent(status: &Status) -> bool {
    chain(status).any(|error| error.is::<ConnectError>())
}

fn chain(status: &Status) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(status.source(), |&error| error.source())
}

/// The innermost reason, which is the one that says something.
fn cause(status: &Status) -> String {
    chain(status).last().map_or_else(|| status.message().to_owned(), ToString::to_string)
}
