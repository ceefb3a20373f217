//! Punctual's gRPC messages and services, generated from `proto/punctual/v1`, and how they stand
//! for the words of `broker-api`: conversions both ways, errors as gRPC statuses, the codec.
//!
//! The gRPC door and the remote client share this crate, so that what one writes the other reads.
//! It opens no socket and asks no broker.

mod codec;
pub mod convert;
pub mod status;

pub use codec::Codec;

/// The generated messages and services of the package `punctual.v1`.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::unwrap_used,
    clippy::large_futures,
    reason = "generated: the style is the generator's"
)]
pub mod v1 {
    tonic::include_proto!("punctual.v1");
}

/// The files of `proto/punctual/v1` as reflection answers them: an encoded `FileDescriptorSet`.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/punctual.v1.bin"));
