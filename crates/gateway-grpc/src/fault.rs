//! Faults below our own services: what the gRPC library refuses gets the details that every error
//! of this door carries.

use punctual_broker_api::{Code, Error};
use punctual_proto::status::{from_status, to_status, to_status_of};
use tonic::Status;

use crate::limits::RETRY_AFTER_MS;

/// What a cancelled request stream ends with, inside this door.
pub(crate) const CANCELLED: tonic::Code = tonic::Code::Aborted;

/// The status itself when it carries our details, else the same with details of its own.
pub(crate) fn detailed(status: Status) -> Status {
    if from_status(&status).is_some() {
        return status;
    }
    let message = || status.message().to_owned();
    match status.code() {
        // The library's own limit on the size of a message.
        tonic::Code::OutOfRange => to_status(
            &Error::new(Code::BatchTooLarge, format!("cannot read the request: {}", message()))
                .with_hint("send fewer or smaller messages in one request"),
        ),
        tonic::Code::Unimplemented => {
            to_status_of(tonic::Code::Unimplemented, &Error::new(Code::RouteNotFound, "there is no such call here"))
        }
        tonic::Code::InvalidArgument | tonic::Code::Internal => {
            to_status(&Error::new(Code::MalformedRequest, format!("cannot read the request: {}", message())))
        }
        tonic::Code::Ok
        | tonic::Code::Cancelled
        | tonic::Code::Unknown
        | tonic::Code::DeadlineExceeded
        | tonic::Code::NotFound
        | tonic::Code::AlreadyExists
        | tonic::Code::PermissionDenied
        | tonic::Code::ResourceExhausted
        | tonic::Code::FailedPrecondition
        | tonic::Code::Aborted
        | tonic::Code::Unavailable
        | tonic::Code::DataLoss
        | tonic::Code::Unauthenticated => status,
    }
}

/// What is answered when the door stops.
pub(crate) fn shutting_down() -> Error {
    Error::new(Code::ShuttingDown, "the broker is stopping").with_retry_after_ms(RETRY_AFTER_MS)
}

/// What is answered on a connection over the limit.
pub(crate) fn too_many_connections() -> Error {
    Error::new(Code::TooManyConnections, "the broker has as many connections as it may")
        .with_retry_after_ms(RETRY_AFTER_MS)
}
