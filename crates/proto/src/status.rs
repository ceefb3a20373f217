//! Errors as gRPC statuses and back: the status groups by kind, the details hold everything.
//!
//! The messages of `google.rpc` that travel in the details are written out here: four small ones,
//! fixed for ever by their field numbers.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;
use punctual_broker_api::{Code, Error, Kind};
use tonic::Status;

use crate::v1;

/// The domain of our error reasons.
pub const DOMAIN: &str = "punctual";

/// The name of a request's id among the metadata of an error.
const REQUEST_ID: &str = "request_id";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: HashMap<String, String>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<ProtoDuration>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, Message)]
struct ProtoDuration {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// The gRPC code of a kind.
///
/// `too_large` is OUT_OF_RANGE, so that it is told from `overloaded`, which may be retried; it is
/// also what gRPC libraries answer to a message over their own limit. `unknown_outcome` is
/// DEADLINE_EXCEEDED, which callers know to mean that it may have happened.
#[must_use]
pub const fn grpc_code(kind: Kind) -> tonic::Code {
    match kind {
        Kind::Invalid => tonic::Code::InvalidArgument,
        Kind::Unauthenticated => tonic::Code::Unauthenticated,
        Kind::Forbidden => tonic::Code::PermissionDenied,
        Kind::NotFound => tonic::Code::NotFound,
        Kind::Conflict => tonic::Code::FailedPrecondition,
        Kind::TooLarge => tonic::Code::OutOfRange,
        Kind::Overloaded => tonic::Code::ResourceExhausted,
        Kind::Unavailable => tonic::Code::Unavailable,
        Kind::UnknownOutcome => tonic::Code::DeadlineExceeded,
        Kind::Internal => tonic::Code::Internal,
    }
}

/// The status of an error, its details included.
#[must_use]
pub fn to_status(error: &Error) -> Status {
    to_status_of(grpc_code(error.kind()), error)
}

/// The status of an error under a code that is not its kind's: a call that does not exist answers
/// UNIMPLEMENTED.
#[must_use]
pub fn to_status_of(code: tonic::Code, error: &Error) -> Status {
    let mut metadata =
        HashMap::from([("kind".to_owned(), error.kind().as_str().to_owned()), ("doc_url".to_owned(), error.doc_url())]);
    metadata.extend(error.field.clone().map(|field| ("field".to_owned(), field)));
    metadata.extend(error.hint.clone().map(|hint| ("hint".to_owned(), hint)));
    let info = ErrorInfo { reason: error.code.slug().to_owned(), domain: DOMAIN.to_owned(), metadata };
    let mut details = vec![Any { type_url: ERROR_INFO.to_owned(), value: info.encode_to_vec() }];
    if let Some(ms) = error.retry_after_ms {
        let delay = ProtoDuration {
            seconds: i64::try_from(ms / 1000).unwrap_or(i64::MAX),
            nanos: i32::try_from(ms % 1000 * 1_000_000).unwrap_or(0),
        };
        let retry = RetryInfo { retry_delay: Some(delay) };
        details.push(Any { type_url: RETRY_INFO.to_owned(), value: retry.encode_to_vec() });
    }
    let whole = RpcStatus { code: code as i32, message: error.message.clone(), details };
    Status::with_details(code, error.message.clone(), Bytes::from(whole.encode_to_vec()))
}

/// The same status with the id of its request beside the details, so that a caller can name it to
/// whoever reads the log. A status without details of ours stays as it is.
#[must_use]
pub fn with_request_id(status: &Status, request_id: &str) -> Status {
    let Ok(mut whole) = RpcStatus::decode(status.details()) else { return status.clone() };
    for any in whole.details.iter_mut().filter(|any| any.type_url == ERROR_INFO) {
        if let Ok(mut info) = ErrorInfo::decode(any.value.as_slice()) {
            info.metadata.insert(REQUEST_ID.to_owned(), request_id.to_owned());
            any.value = info.encode_to_vec();
        }
    }
    let details = Bytes::from(whole.encode_to_vec());
    Status::with_details_and_metadata(status.code(), status.message(), details, status.metadata().clone())
}

/// The id of the request that a status of ours answers.
#[must_use]
pub fn request_id_of(status: &Status) -> Option<String> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    let info = details.iter().find(|any| any.type_url == ERROR_INFO)?;
    ErrorInfo::decode(info.value.as_slice()).ok()?.metadata.remove(REQUEST_ID)
}

/// The error that a status of ours stands for; `None` when it carries no reason that we know.
#[must_use]
pub fn from_status(status: &Status) -> Option<Error> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    let find = |url: &str| details.iter().find(|any| any.type_url == url).map(|any| any.value.as_slice());
    let mut info = ErrorInfo::decode(find(ERROR_INFO)?).ok().filter(|info| info.domain == DOMAIN)?;
    let retry_delay =
        find(RETRY_INFO).and_then(|bytes| RetryInfo::decode(bytes).ok()).and_then(|retry| retry.retry_delay);
    Some(Error {
        code: Code::from_slug(&info.reason)?,
        field: info.metadata.remove("field"),
        message: status.message().to_owned(),
        hint: info.metadata.remove("hint"),
        retry_after_ms: retry_delay.map(|delay| {
            let seconds = u64::try_from(delay.seconds).unwrap_or(0);
            seconds.saturating_mul(1000).saturating_add(u64::try_from(delay.nanos).unwrap_or(0) / 1_000_000)
        }),
    })
}

/// An error as it stands inside an answer.
#[must_use]
pub fn to_proto(error: Error) -> v1::Error {
    v1::Error {
        code: error.code.slug().to_owned(),
        kind: error.kind().as_str().to_owned(),
        doc_url: error.doc_url(),
        field: error.field,
        message: error.message,
        hint: error.hint,
        retry_after_ms: error.retry_after_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)),
    }
}

/// The error of an answer. A code that we do not know, of a newer broker, becomes `internal` with
/// its name in the message.
#[must_use]
pub fn from_proto(error: v1::Error) -> Error {
    let (code, message) = match Code::from_slug(&error.code) {
        Some(code) => (code, error.message),
        None => (Code::Internal, format!("{}: {}", error.code, error.message)),
    };
    Error {
        code,
        field: error.field,
        message,
        hint: error.hint,
        retry_after_ms: error.retry_after_ms.and_then(|ms| u64::try_from(ms).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(code: Code) -> Error {
        Error::new(code, "cannot do it: ünïcode, 100 %")
            .with_field("retry.initial")
            .with_hint("do it\notherwise")
            .with_retry_after_ms(1_234)
    }

    #[test]
    fn every_code_comes_back_from_its_status_and_from_an_answer() {
        for &code in Code::ALL {
            for error in [Error::new(code, "plain"), full(code)] {
                let status = to_status(&error);
                assert_eq!(status.code(), grpc_code(code.kind()));
                assert_eq!(from_status(&status), Some(error.clone()));
                assert_eq!(from_proto(to_proto(error.clone())), error);
            }
        }
    }

    #[test]
    fn a_status_survives_the_trip_through_headers() {
        let mut headers = tonic::metadata::MetadataMap::new().into_headers();
        let error = full(Code::DiskFull);
        to_status(&error).add_header(&mut headers).expect("headers");
        let status = Status::from_header_map(&headers).expect("status");
        assert_eq!(from_status(&status), Some(error));
    }

    #[test]
    fn the_id_of_the_request_stands_beside_the_error() {
        let status = to_status(&full(Code::DiskFull));
        assert_eq!(request_id_of(&status), None);
        let named = with_request_id(&status, "web/17");
        assert_eq!(request_id_of(&named).as_deref(), Some("web/17"));
        assert_eq!((named.code(), from_status(&named)), (status.code(), Some(full(Code::DiskFull))));
        let theirs = with_request_id(&Status::internal("no details"), "web/17");
        assert_eq!((theirs.code(), request_id_of(&theirs)), (tonic::Code::Internal, None));
    }

    #[test]
    fn what_can_be_retried_is_told_from_what_is_too_large() {
        assert_ne!(grpc_code(Kind::TooLarge), grpc_code(Kind::Overloaded));
    }

    #[test]
    fn a_status_of_somebody_else_is_not_taken_for_ours() {
        assert_eq!(from_status(&Status::internal("no details")), None);
        let info = ErrorInfo { reason: "internal".into(), domain: "elsewhere".into(), metadata: HashMap::new() };
        let details = vec![Any { type_url: ERROR_INFO.to_owned(), value: info.encode_to_vec() }];
        let whole = RpcStatus { code: 13, message: String::new(), details }.encode_to_vec();
        assert_eq!(from_status(&Status::with_details(tonic::Code::Internal, "", whole.into())), None);
    }

    #[test]
    fn a_code_of_a_newer_broker_is_named_in_the_message() {
        let error = v1::Error { code: "quantum_flux".into(), message: "boom".into(), ..v1::Error::default() };
        assert_eq!(from_proto(error), Error::new(Code::Internal, "quantum_flux: boom"));
    }
}
